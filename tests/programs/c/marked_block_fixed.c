// expect: clean
// variable: cash
// threads: 3
// race-free: yes
// links: -pthread
// prints: cash and booked 100, expected 100
//
// The marked block with one lock over all of it.
#include "choreography.h"

#include "atomvet.h"

#include <pthread.h>
#include <stdio.h>

pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
int cash = 100;
int booked;
int total_seen;

static void *payer(void *unused)
{
    lead();
    ATOMVET_BEGIN("pay_and_book");
    pthread_mutex_lock(&ledger_lock);
    booked += 50;
    interlude_if_possible();
    cash -= 50;
    pthread_mutex_unlock(&ledger_lock);
    ATOMVET_END();
    return unused;
}

static void *auditor(void *unused)
{
    await_interlude();
    pthread_mutex_lock(&ledger_lock);
    total_seen = cash + booked;
    pthread_mutex_unlock(&ledger_lock);
    end_interlude();
    return unused;
}

int main(void)
{
    run_two_threads(payer, auditor);
    printf("cash and booked %d, expected 100\n", total_seen);
    return 0;
}
