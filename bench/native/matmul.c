/* Matrix multiplication: long loops over memory that is written once and then only read. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 300, THREADS = 2 };
static double a[N][N], b[N][N], c[N][N];

static void row(int i) {
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int k = 0; k < N; k++)
            sum += a[i][k] * b[k][j];
        c[i][j] = sum;
    }
}

static void *work(void *argument) {
    long thread = (long)argument;
    for (int i = (int)thread; i < N; i += THREADS)
        row(i);
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = i + j;
            b[i][j] = i - j;
        }
    for (int round = 0; round < 4; round++) {
        for (long t = 0; t < THREADS; t++)
            pthread_create(&threads[t], NULL, work, (void *)t);
        for (int t = 0; t < THREADS; t++)
            pthread_join(threads[t], NULL);
    }
    double trace = 0;
    for (int i = 0; i < N; i++)
        trace += c[i][i];
    printf("%.0f\n", trace);
    return 0;
}
