/* work_once marks the engine as busy and, when it is done, as idle. Somebody pulls the emergency stop in between, and
 * the second write wipes it away. */
#include "demo.h"

enum { IDLE, BUSY, STOPPED };
static int state = IDLE;

static void work_once(void) {
    lock();
    state = BUSY;
    BUG(unlock());
    turn(1), turn(4); /* here another thread stops the engine */
    BUG(lock());
    state = IDLE;
    unlock();
}

static void stop(void) {
    lock();
    state = STOPPED;
    unlock();
}

static void *worker(void *none) { work_once(); return none; }
static void *guard(void *none) { turn(2); stop(); turn(3); return none; }

int main(void) {
    threads(worker, guard);
    printf("the engine is %s\n", state == STOPPED ? "stopped" : "idle: nobody stopped it");
    return 0;
}
