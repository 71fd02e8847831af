// Teams that are made for a loop or for sections, and locks that are only tried.
// flags: -fopenmp
// compilers: gcc
// expect: clean
#include <omp.h>
#include <stdio.h>

static int squares[64], halves[2], total;
static omp_lock_t lock;

__attribute__((noinline)) static void square(int i) { squares[i] = i * i; }
__attribute__((noinline)) static void half(int i) {
    halves[i] = 0;
    for (int j = i * 32; j < i * 32 + 32; j++)
        halves[i] += squares[j];
}

__attribute__((noinline)) static void add(int value) {
    while (!omp_test_lock(&lock))
        ;
    total += value;
    total -= value / 2;
    omp_unset_lock(&lock);
}

/* Each of these comes after the one before, and what it reads was written by other threads. */
__attribute__((noinline)) static void round_of_all(void) {
#pragma omp parallel for schedule(dynamic) num_threads(4)
    for (int i = 0; i < 64; i++)
        square(i);
#pragma omp parallel sections num_threads(2)
    {
        half(0);
#pragma omp section
        half(1);
    }
#pragma omp parallel for schedule(guided) num_threads(4)
    for (int i = 0; i < 2; i++)
        add(halves[i]);
#pragma omp parallel for schedule(runtime) num_threads(4)
    for (int i = 0; i < 64; i++)
        squares[i] = 0;
}

int main(void) {
    omp_init_lock(&lock);
    for (int i = 0; i < 5; i++)
        round_of_all();
    printf("%d\n", total);
    return 0;
}
