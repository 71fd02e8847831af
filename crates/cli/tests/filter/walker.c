/* Does what a schedule says, step by step: see main.rs. */
#include <atomvet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { VARIABLES = 12, LOCKS = 3 };

struct step {
    int at, operand;
    char operation;
};
void read_schedule(const char *path);
struct step await_step(int thread, int after);
void end_step(void);

/* Next to each other, so that they share words of the filter. */
static int variables[VARIABLES];
static pthread_mutex_t locks[LOCKS];

static void *walk(void *argument)
{
    int thread = (int)(long)argument;
    for (struct step step = {-1, 0, 0};;) {
        step = await_step(thread, step.at + 1);
        int *variable = &variables[step.operand % VARIABLES];
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
        case 'a':
            pthread_mutex_lock(&locks[step.operand % LOCKS]);
            break;
        case 'u':
            pthread_mutex_unlock(&locks[step.operand % LOCKS]);
            break;
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

int main(int count, char **arguments)
{
    int threads = count > 2 ? atoi(arguments[2]) : 0;
    pthread_t handles[64];
    read_schedule(arguments[1]);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&locks[i], NULL);
    for (long i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, walk, (void *)(i + 1));
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    return 0;
}
