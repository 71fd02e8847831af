// Two threads use the account of account.c, which may have been compiled without hooks. Nothing is wrong.
#include <pthread.h>

void add(int amount);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int deposits;

void deposit(int amount)
{
    pthread_mutex_lock(&lock);
    add(amount);
    deposits++;
    pthread_mutex_unlock(&lock);
}

static void *work(void *unused)
{
    for (int i = 0; i < 100; i++)
        deposit(1);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
