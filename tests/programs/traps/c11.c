// C11 threads, whose functions glibc does not make of those that can be interposed.
// expect: clean
#include <stdio.h>
#include <threads.h>

static mtx_t lock;
static cnd_t changed;
static once_flag once = ONCE_FLAG_INIT;
static int count, ready;

__attribute__((noinline)) static void prepare(void) { count = 1000; }

__attribute__((noinline)) static void add(void) {
    mtx_lock(&lock);
    count++;
    mtx_unlock(&lock);
}

__attribute__((noinline)) static void wait_until_ready(void) {
    mtx_lock(&lock);
    while (!ready)
        cnd_wait(&changed, &lock);
    mtx_unlock(&lock);
}

static int work(void *unused) {
    (void)unused;
    call_once(&once, prepare);
    wait_until_ready();
    for (int i = 0; i < 100; i++)
        add();
    return 3;
}

int main(void) {
    thrd_t threads[4];
    int sum = 0;
    mtx_init(&lock, mtx_plain);
    cnd_init(&changed);
    for (int i = 0; i < 4; i++)
        thrd_create(&threads[i], work, NULL);
    mtx_lock(&lock);
    ready = 1;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
    for (int i = 0; i < 4; i++) {
        int result;
        thrd_join(threads[i], &result);
        sum += result;
    }
    printf("%d %d\n", count, sum);
    return 0;
}
