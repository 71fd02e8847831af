/* Two philosophers take two forks, in opposite orders. In this run one eats after the other, and all is well; in
 * another schedule each holds one fork and waits for the other for ever. */
#include "demo.h"

static pthread_mutex_t left_fork = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right_fork = PTHREAD_MUTEX_INITIALIZER;
static int eaten;

static void eat(pthread_mutex_t *one, pthread_mutex_t *other) {
    pthread_mutex_lock(one);
    pthread_mutex_lock(other);
    eaten++;
    pthread_mutex_unlock(other);
    pthread_mutex_unlock(one);
}

static void *first(void *none) { eat(&left_fork, &right_fork); turn(1); return none; }
static void *second(void *none) {
    turn(2); /* the first has eaten */
    BUG(eat(&right_fork, &left_fork));
    FIX(eat(&left_fork, &right_fork));
    return none;
}

int main(void) {
    threads(first, second);
    printf("eaten %d times\n", eaten);
    return 0;
}
