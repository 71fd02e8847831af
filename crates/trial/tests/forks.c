/* Makes a child in the way that the argument names. Only the child calls `in_child`, whose accesses are nobody else's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int value, other_value;
static char stack[1 << 18];

__attribute__((noinline)) void in_child(void) { value++; }
__attribute__((noinline)) void in_parent(void) { other_value++; }

static int child(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        in_child();
    _exit(7);
}

static void *nothing(void *unused) { return unused; }

static pid_t by_instruction(void)
{
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"((long)SYS_fork) : "rcx", "r11", "memory");
    return (pid_t)result;
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "";
    pthread_t thread;
    int status = 0;
    pid_t made = -1;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    in_parent();
    if (!strcmp(way, "fork"))
        made = fork();
    else if (!strcmp(way, "_Fork"))
        made = _Fork();
    else if (!strcmp(way, "syscall"))
        made = (pid_t)syscall(SYS_fork);
    else if (!strcmp(way, "instruction"))
        made = by_instruction();
    else if (!strcmp(way, "clone"))
        made = clone(child, stack + sizeof stack, SIGCHLD, 0);
    else if (!strcmp(way, "vfork"))
        made = vfork();
    if (made == 0)
        child(0);
    waitpid(made, &status, 0);
    in_parent();
    return WEXITSTATUS(status);
}
