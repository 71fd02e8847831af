// expect: violated log_write
// variable: access_log
// leaves: 29
// returns: 31
// threads: 3
// race-free: no
// links: -pthread
// prints: log "PUT b.....", expected both requests
//
// The index of a log buffer, as in Apache bug 25520: both threads copy to the same place, then both move the index.
//
//   T1: [ r(used) copy                 used += 5 ]
//   T2:                 [ log_write ]
#include "choreography.h"

#include <stdio.h>
#include <string.h>

struct log_buffer {
    size_t used;
    char bytes[32];
};

struct log_buffer access_log = {0, "..............................."};

OPERATION void log_write(const char *line)
{
    size_t length = strlen(line);
    memcpy(access_log.bytes + access_log.used, line, length); // leaves
    interlude();
    access_log.used += length; // returns
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
