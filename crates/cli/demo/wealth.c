/* wealth adds two accounts. Each of them is atomic, the sum is not: what is moved from the one to the other in
 * between is counted twice. */
#include "demo.h"

static atomic_int checking = 100;
static atomic_int savings = 0;

static int wealth(void) {
    FIX(lock());
    int sum = atomic_load(&checking);
    turn(1), turn(4); /* here another thread moves the money */
    sum += atomic_load(&savings);
    FIX(unlock());
    return sum;
}

static void save(int amount) {
    FIX(lock());
    atomic_fetch_sub(&checking, amount);
    atomic_fetch_add(&savings, amount);
    FIX(unlock());
}

static void *adviser(void *none) { printf("there is %d: it was 100 all the time\n", wealth()); return none; }
static void *saver(void *none) { turn(2); save(100); turn(3); return none; }

int main(void) {
    threads(adviser, saver);
    return 0;
}
