/* Does what a schedule says, step by step: see main.rs. */
#include <atomvet.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 12, OBJECTS = 3 };

struct step {
    int at, operand;
    char operation;
};
void read_schedule(const char *path);
struct step await_step(int thread, int after);
void end_step(void);
void signal_waiter(int condition);
int take_signal(int condition);

/* Next to each other, so that they share words of the filter. */
static int variables[VARIABLES];
static pthread_mutex_t mutexes[OBJECTS];
static pthread_cond_t conditions[OBJECTS];
static pthread_rwlock_t locks[OBJECTS];
static sem_t semaphores[OBJECTS];
static pthread_barrier_t barrier;
static pthread_once_t initialisations[OBJECTS] = {PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT, PTHREAD_ONCE_INIT};
static int initialised[OBJECTS];

static void initialise_0(void) { initialised[0] = 1; }
static void initialise_1(void) { initialised[1] = 1; }
static void initialise_2(void) { initialised[2] = 1; }
static void (*const initialise[OBJECTS])(void) = {initialise_0, initialise_1, initialise_2};

static void *walk(void *argument)
{
    int thread = (int)(long)argument;
    for (struct step step = {-1, 0, 0};;) {
        step = await_step(thread, step.at + 1);
        int *variable = &variables[step.operand % VARIABLES];
        int object = step.operand % OBJECTS;
        char label[16];
        switch (step.operation) {
        case 0:
            return NULL;
        case 'r':
            (void)*(volatile int *)variable;
            break;
        case 'w':
            *(volatile int *)variable = step.at;
            break;
        case 'L':
            __atomic_load_n(variable, __ATOMIC_SEQ_CST);
            break;
        case 'S':
            __atomic_store_n(variable, step.at, __ATOMIC_SEQ_CST);
            break;
        case 'X':
            __atomic_exchange_n(variable, step.at, __ATOMIC_SEQ_CST);
            break;
        case 'A':
            __atomic_fetch_add(variable, 1, __ATOMIC_SEQ_CST);
            break;
        case 'a':
            pthread_mutex_lock(&mutexes[object]);
            break;
        case 'u':
            pthread_mutex_unlock(&mutexes[object]);
            break;
        case 'R':
            pthread_rwlock_rdlock(&locks[object]);
            break;
        case 'W':
            pthread_rwlock_wrlock(&locks[object]);
            break;
        case 'V':
            pthread_rwlock_unlock(&locks[object]);
            break;
        case 't':
            sem_wait(&semaphores[object]);
            break;
        case 'p':
            sem_post(&semaphores[object]);
            break;
        case 'o':
            pthread_once(&initialisations[object], initialise[object]);
            (void)*(volatile int *)&initialised[object];
            break;
        case 's':
            signal_waiter(object);
            pthread_cond_signal(&conditions[object]);
            break;
        /* Others go on while this one waits. Who takes the mutex next, or leaves the barrier, does so after this one has begun to wait. */
        case 'c':
            end_step();
            do
                pthread_cond_wait(&conditions[object], &mutexes[object]);
            while (!take_signal(object));
            continue;
        case 'b':
            end_step();
            pthread_barrier_wait(&barrier);
            continue;
        case 'B':
            snprintf(label, sizeof label, "b%d", step.operand);
            ATOMVET_BEGIN(label);
            break;
        case 'E':
            ATOMVET_END();
            break;
        }
        end_step();
    }
}

/* A thread whose places in the recorder another one takes over later, used to different degrees. */
static void *former(void *argument)
{
    for (long i = 0; i < (long)argument; i++) {
        ATOMVET_BEGIN("former");
        ATOMVET_END();
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int threads = count > 2 ? atoi(arguments[2]) : 0;
    pthread_t handles[64];
    read_schedule(arguments[1]);
    for (int i = 0; i < OBJECTS; i++) {
        pthread_mutex_init(&mutexes[i], NULL);
        pthread_cond_init(&conditions[i], NULL);
        pthread_rwlock_init(&locks[i], NULL);
        sem_init(&semaphores[i], 0, 1);
    }
    pthread_barrier_init(&barrier, NULL, threads);
    for (int i = 0; i < 100 && count > 3; i++) {
        char label[16];
        snprintf(label, sizeof label, "b%d", i);
        ATOMVET_BEGIN(label);
        ATOMVET_END();
    }
    for (long i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, former, (void *)(i * 29 % 64));
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (long i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, walk, (void *)(i + 1));
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    return 0;
}
