// A test runner: starts itself twice, and the children do the work, in threads. With `entries` all of it is in the entry function
// of the threads, with `blocks` in a function that it calls.
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x;
static int in_blocks;

void increment(void)
{
    pthread_mutex_lock(&lock);
    x++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
    if (in_blocks) {
        increment();
    } else {
        pthread_mutex_lock(&lock);
        x++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

int main(int count, char **arguments)
{
    in_blocks = strcmp(arguments[1], "blocks") == 0;
    if (count == 3) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], NULL, work, NULL);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            execl("/proc/self/exe", arguments[0], arguments[1], "child", (char *)NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
    }
    return 0;
}
