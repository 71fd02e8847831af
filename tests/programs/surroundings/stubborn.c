/* Violates an operation and ignores SIGINT and SIGTERM. Then it starts a child, if its argument says so: `attached`, which ignores
 * the signals as well, or `detached`, which calls setsid. Each process says its number, the child first, and waits for ever. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "choreography.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long shared;

__attribute__((noinline)) static void increment(void)
{
    pthread_mutex_lock(&lock);
    long seen = shared;
    pthread_mutex_unlock(&lock);
    interlude();
    pthread_mutex_lock(&lock);
    shared = seen + 1;
    pthread_mutex_unlock(&lock);
}

static void *first_worker(void *unused)
{
    lead();
    increment();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    increment();
    end_interlude();
    return unused;
}

static void wait_for_ever(void)
{
    printf("%d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    const char *child = argc > 1 ? argv[1] : "none";
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    run_two_threads(first_worker, second_worker);
    if (strcmp(child, "none") != 0) {
        int said[2];
        if (pipe(said) != 0)
            return 1;
        if (fork() == 0) {
            if (strcmp(child, "detached") == 0)
                setsid();
            close(said[0]);
            printf("%d\n", (int)getpid());
            fflush(stdout);
            close(said[1]);
            for (;;)
                pause();
        }
        close(said[1]);
        char nothing;
        while (read(said[0], &nothing, 1) > 0)
            ;
    }
    wait_for_ever();
}
