// expect: clean
// variable: connection
// threads: 3
// race-free: yes
// links: -pthread
// prints: state sending data, expected a state or idle
//
// Test and use under one lock.
#include "choreography.h"

#include <pthread.h>
#include <stdio.h>

struct connection {
    pthread_mutex_t lock;
    const char *proc_info;
};

struct connection connection = {PTHREAD_MUTEX_INITIALIZER, "sending data"};
const char *state_shown;

OPERATION const char *describe_connection(void)
{
    const char *state = "idle";
    pthread_mutex_lock(&connection.lock);
    if (connection.proc_info != NULL) {
        interlude_if_possible();
        state = connection.proc_info;
    }
    pthread_mutex_unlock(&connection.lock);
    return state;
}

OPERATION void finish_statement(void)
{
    pthread_mutex_lock(&connection.lock);
    connection.proc_info = NULL;
    pthread_mutex_unlock(&connection.lock);
}

static void *first_worker(void *unused)
{
    lead();
    state_shown = describe_connection();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    finish_statement();
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(first_worker, second_worker);
    printf("state %s, expected a state or idle\n", state_shown ? state_shown : "(null)");
    return 0;
}
