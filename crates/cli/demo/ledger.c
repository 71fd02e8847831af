/* book takes the lock twice, and another thread takes it in between. It touches nothing that book touches: nothing is
 * wrong yet, but book is not one step. Either hold the lock, or say that these are two steps. */
#include "demo.h"

static int booked;
static int lines;
static int limit = 10;

static void book(int amount) {
    lock();
    booked += amount;
    BUG(unlock());
    turn(1), turn(4); /* here another thread has the lock */
    BUG(lock());
    lines++;
    unlock();
}

static void set_limit(int amount) {
    lock();
    limit = amount;
    unlock();
}

static void *clerk(void *none) { book(5); return none; }
static void *chief(void *none) { turn(2); set_limit(20); turn(3); return none; }

int main(void) {
    threads(clerk, chief);
    printf("booked %d in %d line, limit %d\n", booked, lines, limit);
    return 0;
}
