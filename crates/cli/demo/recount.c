/* recount sets the total to zero and then to what it has counted. Both writes are under the lock; who looks in
 * between sees a total that never was. */
#include "demo.h"

static int votes[3] = {3, 4, 5};
static int total = 12;

static void recount(void) {
    lock();
    total = 0;
    BUG(unlock());
    turn(1), turn(4); /* here another thread looks */
    int sum = votes[0] + votes[1] + votes[2];
    BUG(lock());
    total = sum;
    unlock();
}

static int look(void) {
    lock();
    int seen = total;
    unlock();
    return seen;
}

static void *counter(void *none) { recount(); return none; }
static void *reporter(void *none) { turn(2); printf("seen %d of 12 votes\n", look()); turn(3); return none; }

int main(void) {
    threads(counter, reporter);
    return 0;
}
