// Signals that arrive all the time, also while the runtime is at work; errno stays what it is.
// expect: clean
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count, wrong_errno;
static __thread volatile int handled[64];

__attribute__((noinline)) static void handler(int number) {
    for (int i = 0; i < 64; i++)
        handled[i] += number;
}

__attribute__((noinline)) static void add(void) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused) {
    for (int i = 0; i < 20000; i++) {
        errno = 77;
        add();
        if (errno != 77 && errno != EINTR)
            __atomic_fetch_add(&wrong_errno, 1, __ATOMIC_RELAXED);
    }
    return unused;
}

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d %d\n", count, wrong_errno);
    return 0;
}
