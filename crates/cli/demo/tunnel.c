/* One train at a time in the tunnel. A train from the east raises its signal first, and then looks for the other
 * one's. A train from the west looks first, and raises its own later: both of them go. */
#include "demo.h"

static atomic_int west_signal;
static atomic_int east_signal;
static atomic_int inside;

static void enter_from_west(void) {
    FIX(lock());
    if (!atomic_load(&east_signal)) {
        turn(1), turn(4); /* here a train from the east enters */
        atomic_store(&west_signal, 1);
        inside++;
    }
    FIX(unlock());
}

static void enter_from_east(void) {
    FIX(lock());
    atomic_store(&east_signal, 1);
    if (!atomic_load(&west_signal))
        inside++;
    FIX(unlock());
}

static void *west(void *none) { enter_from_west(); return none; }
static void *east(void *none) { turn(2); enter_from_east(); turn(3); return none; }

int main(void) {
    threads(west, east);
    printf("trains in the tunnel: %d\n", inside);
    return 0;
}
