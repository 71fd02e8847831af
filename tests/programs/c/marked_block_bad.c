// expect: violated pay_and_book
// options: --conflicts locks
// variable: cash
// leaves: 33 34
// returns: 36 37
// threads: 3
// race-free: yes
// links: -pthread
// prints: cash and booked 150, expected 100
//
// Part of a thread's entry function is marked as a block. No function here is a block by default: what is found is found
// through the annotation alone.
//
//   T1: [ w(booked)                         w(cash) ]
//   T2:              [ r(cash) r(booked) ]
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
    booked += 50; // leaves
    pthread_mutex_unlock(&ledger_lock); // leaves
    interlude();
    pthread_mutex_lock(&ledger_lock); // returns
    cash -= 50; // returns
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
