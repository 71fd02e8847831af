// expect: violated describe_connection
// variable: connection
// leaves: 28
// returns: 31
// threads: 3
// race-free: no
// links: -pthread
// prints: state (null), expected a state or idle
//
// A pointer is tested and then used, as MySQL did with proc_info: it is null by then. (MySQL crashed; here the null is
// printed.)
//
//   T1: [ r(proc_info)                     r(proc_info) ]
//   T2:                 [ w(proc_info) ]
#include "choreography.h"

#include <stdio.h>

struct connection {
    const char *proc_info;
};

struct connection connection = {"sending data"};
const char *state_shown;

OPERATION const char *describe_connection(void)
{
    if (connection.proc_info == NULL) // leaves
        return "idle";
    interlude();
    return connection.proc_info; // returns
}

OPERATION void finish_statement(void)
{
    connection.proc_info = NULL;
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
