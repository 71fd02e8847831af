// expect: clean
// variable: access_log
// threads: 3
// race-free: yes
// links: -pthread
// prints: log "GET aPUT b", expected both requests
//
// One lock over copying and moving the index.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct log_buffer {
    pthread_mutex_t lock;
    size_t used;
    char bytes[32];
};

struct log_buffer access_log = {PTHREAD_MUTEX_INITIALIZER, 0, "..............................."};

OPERATION void log_write(const char *line)
{
    size_t length = strlen(line);
    pthread_mutex_lock(&access_log.lock);
    memcpy(access_log.bytes + access_log.used, line, length);
    interlude_if_possible();
    access_log.used += length;
    pthread_mutex_unlock(&access_log.lock);
}

static void *first_worker(void *unused)
{
    lead();
    log_write("GET a");
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    log_write("PUT b");
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("log \"%.*s\", expected both requests\n", (int)access_log.used, access_log.bytes);
    return 0;
}
