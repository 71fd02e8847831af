// A detached child does its work, which is in order, and lives on when the program has ended.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

OPERATION void count(void)
{
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *nothing)
{
    count();
    return nothing;
}

int main(void)
{
    int ready[2];
    char byte = 0;
    if (pipe(ready) != 0)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        setsid();
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
        run_two_threads(work, work);
        if (write(ready[1], &byte, 1) != 1)
            return 2;
        for (;;)
            pause();
    }
    if (read(ready[0], &byte, 1) != 1)
        return 2;
    printf("%d\n", (int)child);
}
