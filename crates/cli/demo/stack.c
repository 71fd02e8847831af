/* Each access of the stack is under the lock. But top_if_any looks whether there is something, lets go of the lock,
 * and reads the last one: meanwhile another thread may have taken it. */
#include "demo.h"

static int items[10] = {42};
static int length = 1;

static int pop(void) {
    lock();
    int item = length > 0 ? items[--length] : -1;
    unlock();
    return item;
}

static int top_if_any(void) {
    int item = -1;
    lock();
    if (length > 0) {
        BUG(unlock());
        turn(1), turn(4); /* here another thread takes the only one */
        BUG(lock());
        int last = length - 1;
        item = last < 0 ? -2 : items[last];
    }
    unlock();
    return item;
}

static void *looker(void *none) { printf("the last one is %d: -2 is none at all\n", top_if_any()); return none; }
static void *taker(void *none) { turn(2); pop(); turn(3); return none; }

int main(void) {
    threads(looker, taker);
    return 0;
}
