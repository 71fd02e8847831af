/* One of two doctors has to stay. Each may go if the other is there. Ann looks whether Bob is there, and goes; but
 * meanwhile Bob has looked whether Ann is there, and gone. */
#include "demo.h"

static atomic_int ann_is_there = 1;
static atomic_int bob_is_there = 1;

static void ann_goes(void) {
    FIX(lock());
    if (atomic_load(&bob_is_there)) {
        turn(1), turn(4); /* here Bob looks, and goes */
        atomic_store(&ann_is_there, 0);
    }
    FIX(unlock());
}

static void bob_goes(void) {
    FIX(lock());
    if (atomic_load(&ann_is_there))
        atomic_store(&bob_is_there, 0);
    FIX(unlock());
}

static void *ann(void *none) { ann_goes(); return none; }
static void *bob(void *none) { turn(2); bob_goes(); turn(3); return none; }

int main(void) {
    threads(ann, bob);
    printf("doctors that are there: %d\n", ann_is_there + bob_is_there);
    return 0;
}
