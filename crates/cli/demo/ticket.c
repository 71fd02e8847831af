/* take_ticket writes the number of the ticket, lets go of the lock, and reads it back: by then it may be the number
 * of another customer. */
#include "demo.h"

static int latest = 7;

static int take_ticket(int number) {
    lock();
    latest = number;
    BUG(unlock());
    turn(1), turn(4); /* here another customer takes one */
    BUG(lock());
    int mine = latest;
    unlock();
    return mine;
}

static void put_ticket(int number) {
    lock();
    latest = number;
    unlock();
}

static void *first(void *none) { printf("took number 8, got number %d\n", take_ticket(8)); return none; }
static void *second(void *none) { turn(2); put_ticket(9); turn(3); return none; }

int main(void) {
    threads(first, second);
    return 0;
}
