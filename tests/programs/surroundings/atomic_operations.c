// Performs every atomic operation of every width, and checks what it returns and what it leaves behind.
#include <stdio.h>
#include <stdlib.h>

static void expect(int is_right, int line)
{
    if (!is_right) {
        printf("line %d\n", line);
        exit(1);
    }
}
#define EXPECT(condition) expect(condition, __LINE__)

#define TRY(type)                                                                                         \
    do {                                                                                                  \
        static _Alignas(16) type x;                                                                       \
        type expected;                                                                                    \
        __atomic_store_n(&x, (type)12, __ATOMIC_SEQ_CST);                                                 \
        EXPECT(__atomic_load_n(&x, __ATOMIC_RELAXED) == 12);                                              \
        EXPECT(__atomic_exchange_n(&x, (type)10, __ATOMIC_SEQ_CST) == 12);                                \
        EXPECT(__atomic_fetch_add(&x, (type)5, __ATOMIC_SEQ_CST) == 10);                                  \
        EXPECT(__atomic_fetch_sub(&x, (type)1, __ATOMIC_SEQ_CST) == 15);                                  \
        EXPECT(__atomic_fetch_and(&x, (type)6, __ATOMIC_SEQ_CST) == 14);                                  \
        EXPECT(__atomic_fetch_or(&x, (type)9, __ATOMIC_SEQ_CST) == 6);                                    \
        EXPECT(__atomic_fetch_xor(&x, (type)3, __ATOMIC_SEQ_CST) == 15);                                  \
        EXPECT(__atomic_fetch_nand(&x, (type)4, __ATOMIC_SEQ_CST) == 12);                                 \
        EXPECT(__atomic_load_n(&x, __ATOMIC_ACQUIRE) == (type) ~(type)4);                                 \
        __atomic_store_n(&x, (type)7, __ATOMIC_RELEASE);                                                  \
        expected = 8;                                                                                     \
        EXPECT(!__atomic_compare_exchange_n(&x, &expected, (type)9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        EXPECT(expected == 7);                                                                            \
        EXPECT(__atomic_compare_exchange_n(&x, &expected, (type)9, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)); \
        EXPECT(__sync_val_compare_and_swap(&x, (type)9, (type)11) == 9);                                  \
        EXPECT(__atomic_load_n(&x, __ATOMIC_SEQ_CST) == 11);                                              \
        __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                          \
        __atomic_signal_fence(__ATOMIC_SEQ_CST);                                                          \
    } while (0)

int main(void)
{
    TRY(unsigned char);
    TRY(unsigned short);
    TRY(unsigned int);
    TRY(unsigned long);
    TRY(unsigned __int128);
    puts("all as expected");
    return 0;
}
