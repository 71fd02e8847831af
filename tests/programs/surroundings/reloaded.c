/* A library whose function, variable and lock have the names that the compiler is told: one of their kind loses an update. */
#include <pthread.h>

void step(int number);
void done(void);

static pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;
static int VARIABLE;

void FUNCTION(int reads_at, int writes_at)
{
    step(reads_at);
    pthread_mutex_lock(&LOCK);
    int seen = VARIABLE;
    pthread_mutex_unlock(&LOCK);
    done();
    step(writes_at);
    pthread_mutex_lock(&LOCK);
    VARIABLE = seen + 1;
    pthread_mutex_unlock(&LOCK);
    done();
}
