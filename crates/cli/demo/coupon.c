/* A coupon may be used once. The flag is atomic, so there is no data race; but it is tested first and set later,
 * and a second customer passes the test in between. */
#include "demo.h"

static atomic_int used;
static atomic_int given;

static void redeem(void) {
#ifdef FIXED
    if (!atomic_exchange(&used, 1))
        given++;
#else
    if (!atomic_load(&used)) {
        turn(1), turn(4); /* here another customer passes the same test */
        atomic_store(&used, 1);
        given++;
    }
#endif
}

static void redeem_at_once(void) {
    int not_yet = 0;
    if (atomic_compare_exchange_strong(&used, &not_yet, 1))
        given++;
}

static void *first(void *none) { redeem(); return none; }
static void *second(void *none) { turn(2); redeem_at_once(); turn(3); return none; }

int main(void) {
    threads(first, second);
    printf("given %d times: one coupon is good for one\n", given);
    return 0;
}
