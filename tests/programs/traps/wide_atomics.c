// 16 bytes that are changed as one: read, then written, is no update. Every operation does what it should.
// expect: violated increment
// returns: 20
// flags: -mcx16 -latomic
#include <pthread.h>
#include <stdio.h>

#include "choreography.h"

typedef unsigned __int128 wide;

static wide shared __attribute__((aligned(16)));

__attribute__((noinline)) static void increment(int reads_at, int writes_at) {
    step(reads_at);
    wide seen = __atomic_load_n(&shared, __ATOMIC_SEQ_CST);
    done();
    step(writes_at);
    wide next = seen + ((wide)1 << 64) + 1;
    __atomic_store_n(&shared, next, __ATOMIC_SEQ_CST);
    done();
}

static void *slow(void *unused) {
    increment(0, 3);
    return unused;
}

static void *quick(void *unused) {
    increment(1, 2);
    return unused;
}

static void show(wide value) {
    printf("%llx %llx\n", (unsigned long long)(value >> 64), (unsigned long long)value);
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, slow, NULL);
    pthread_create(&b, NULL, quick, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    show(shared);
    wide three = (wide)3 << 64 | 5;
    show(__atomic_exchange_n(&shared, three, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_add(&shared, three, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_sub(&shared, 6, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_and(&shared, ~(wide)1, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_or(&shared, 1, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_xor(&shared, three, __ATOMIC_SEQ_CST));
    show(__atomic_fetch_nand(&shared, three, __ATOMIC_SEQ_CST));
    wide wrong = 1, right = __atomic_load_n(&shared, __ATOMIC_SEQ_CST);
    int done_wrong = __atomic_compare_exchange_n(&shared, &wrong, 9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    show(wrong);
    int done_right = __atomic_compare_exchange_n(&shared, &right, 9, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    show(shared);
    printf("%d %d\n", done_wrong, done_right);
    return 0;
}
