/* Two fields that belong together: move changes x and then y. Each of them is atomic; who looks in between sees a
 * point where nobody has ever been. */
#include "demo.h"

static atomic_int x = 1;
static atomic_int y = 1;

static void move(int where) {
    FIX(lock());
    atomic_store(&x, where);
    turn(1), turn(4); /* here another thread looks */
    atomic_store(&y, where);
    FIX(unlock());
}

static int on_the_diagonal(void) {
    FIX(lock());
    int same = atomic_load(&x) == atomic_load(&y);
    FIX(unlock());
    return same;
}

static void *mover(void *none) { move(2); return none; }
static void *looker(void *none) {
    turn(2);
    printf("the point is %s the diagonal\n", on_the_diagonal() ? "on" : "off");
    turn(3);
    return none;
}

int main(void) {
    threads(mover, looker);
    return 0;
}
