// OpenMP: teams, critical sections and barriers of libgomp, which is not instrumented.
// flags: -fopenmp
// compilers: gcc
// expect: clean
#include <stdio.h>

static int total, squares[64];

__attribute__((noinline)) static void square(int i) { squares[i] = i * i; }

__attribute__((noinline)) static void add(int value) {
#pragma omp critical
    total += value;
}

int main(void) {
    for (int round = 0; round < 10; round++) {
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 64; i++)
            square(i);
#pragma omp parallel num_threads(4)
        {
            add(1);
#pragma omp barrier
            add(2);
        }
        for (int i = 0; i < 64; i++)
            total += squares[i];
    }
    printf("%d\n", total);
    return 0;
}
