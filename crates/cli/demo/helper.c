/* sum_up hands half of its work to a thread and waits for it. A function that waits for others cannot be one
 * indivisible step; `atomvet run` judges the pieces before and after the wait, unless it gets --strict-waits. */
#include "demo.h"

static int half;

static void *add_half(void *none) { half = 3 + 4; return none; }

static int sum_up(void) {
#ifdef FIXED
    return 1 + 2 + 3 + 4;
#else
    pthread_t helper;
    pthread_create(&helper, NULL, add_half, NULL);
    int other_half = 1 + 2;
    pthread_join(helper, NULL);
    return half + other_half;
#endif
}

static void *start(void *none) { printf("the sum is %d\n", sum_up()); return none; }

int main(void) {
    FIX(add_half(NULL));
    threads(start);
    return 0;
}
