/* Three threads: buy posts an order, the shop passes it on, the store answers, and buy reads the answer. No two of
 * them alone are a problem; all three together lead out of buy and back into it. */
#include "demo.h"

static atomic_int ordered;
static atomic_int passed_on;
static atomic_int answer;

static int buy(int what) {
    FIX(lock());
    atomic_store(&ordered, what);
    turn(1), turn(6); /* here the other two do their work */
    int got = atomic_load(&answer);
    FIX(unlock());
    return got;
}

static void pass_on(void) {
    FIX(lock());
    atomic_store(&passed_on, atomic_load(&ordered));
    FIX(unlock());
}

static void deliver(void) {
    FIX(lock());
    atomic_store(&answer, atomic_load(&passed_on));
    FIX(unlock());
}

static void *buyer(void *none) { printf("ordered 5, got %d\n", buy(5)); return none; }
static void *shop(void *none) { turn(2); pass_on(); turn(3); return none; }
static void *store(void *none) { turn(4); deliver(); turn(5); return none; }

int main(void) {
    threads(buyer, shop, store);
    return 0;
}
