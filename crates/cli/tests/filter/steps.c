/* Gives out the steps of a schedule, one at a time and in its order. Not instrumented: the runtime sees nothing of this. */
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct step {
    int thread, operand;
    char operation;
};

static struct step *steps;
static int count, turn;

void read_schedule(const char *path)
{
    FILE *file = fopen(path, "r");
    steps = malloc(1000000);
    while (file && fscanf(file, "%d %c %d", &steps[count].thread, &steps[count].operation, &steps[count].operand) == 3)
        count++;
}

/* The next step of a thread, when it is its turn; operation 0 at the end. */
struct step await_step(int thread, int after)
{
    int at = after;
    while (at < count && steps[at].thread != thread)
        at++;
    for (int now; (now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST)) < at;)
        syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, 0, 0, 0);
    struct step step = {at, 0, 0};
    if (at < count)
        step = (struct step){at, steps[at].operand, steps[at].operation};
    return step;
}

void end_step(void)
{
    __atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1000, 0, 0, 0);
}

/* Conditions, each with one waiter at most, who looks and is told with its mutex held. */
static int signalled[16];

void signal_waiter(int condition)
{
    signalled[condition] = 1;
}

int take_signal(int condition)
{
    int was_signalled = signalled[condition];
    signalled[condition] = 0;
    return was_signalled;
}
