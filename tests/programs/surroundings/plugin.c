/* A library that is loaded later: the deposit of another thread is lost. */
#include <pthread.h>

void interlude(void);

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;
int plugin_balance = 100;

void deposit(int amount)
{
    pthread_mutex_lock(&account_lock);
    int seen = plugin_balance;
    pthread_mutex_unlock(&account_lock);
    interlude();
    pthread_mutex_lock(&account_lock);
    plugin_balance = seen + amount;
    pthread_mutex_unlock(&account_lock);
}
