// Entry functions that call operations without naming them: through a virtual table and through a pointer. Both are checked: they
// are no tasks, because one has an object and the other a parameter.
//
//   T1: [ Account::deposit: r(x)              w(x) ]
//   T2:                [ take(1): w(x) ]
#include "choreography.h"

#include <cstdio>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int x;

OPERATION void change(int amount)
{
    pthread_mutex_lock(&lock);
    x += amount;
    pthread_mutex_unlock(&lock);
}

class Counter {
  public:
    virtual ~Counter() {}
    virtual void increment() = 0;
};

class Account : public Counter {
  public:
    OPERATION void increment() override
    {
        pthread_mutex_lock(&lock);
        int seen = x;
        pthread_mutex_unlock(&lock);
        interlude();
        pthread_mutex_lock(&lock);
        x = seen + 1;
        pthread_mutex_unlock(&lock);
    }
};

OPERATION void take(int amount)
{
    change(-amount);
    change(0);
}

Counter *counter = new Account;
void (*volatile operation)(int) = take;

static void *first_worker(void *unused)
{
    lead();
    counter->increment();
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    operation(1);
    end_interlude();
    return unused;
}

int main()
{
    run_two_threads(first_worker, second_worker);
    std::printf("%d\n", x);
}
