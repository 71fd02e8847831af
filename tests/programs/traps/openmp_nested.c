// Teams inside a team have barriers of their own: who arrives at one is not waited for at the other. `operation` would be wrong
// if thread 1's team came before thread 0's.
// flags: -fopenmp
// compilers: gcc
// expect: clean
#include <omp.h>
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

static pthread_mutex_t lock_a = PTHREAD_MUTEX_INITIALIZER, lock_b = PTHREAD_MUTEX_INITIALIZER;
static int a, b;

__attribute__((noinline)) static void touch_a(void) {
    pthread_mutex_lock(&lock_a);
    a++;
    pthread_mutex_unlock(&lock_a);
}

__attribute__((noinline)) static void touch_b(void) {
    pthread_mutex_lock(&lock_b);
    b++;
    pthread_mutex_unlock(&lock_b);
}

__attribute__((noinline)) static void operation(void) {
    touch_a();
    done();
    step(3);
    touch_b();
    done();
}

/* The first of a team of two touches `before` it meets the other, and `after`. */
static void team(void (*before)(void), int before_at, void (*after)(void), int after_at) {
#pragma omp parallel num_threads(2)
    {
        int is_first = omp_get_thread_num() == 0;
        if (is_first) {
            step(before_at);
            if (before)
                before();
        }
#pragma omp barrier
        if (is_first) {
            if (before)
                done();
            step(after_at);
            if (after) {
                after();
                done();
            }
        } else {
            step(4);
        }
    }
}

int main(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(3)
    {
        switch (omp_get_thread_num()) {
        case 0:
            team(NULL, 2, touch_b, 2);
            break;
        case 1:
            team(touch_a, 1, NULL, 4);
            break;
        default:
            operation();
        }
    }
    printf("%d %d\n", a, b);
    return 0;
}
