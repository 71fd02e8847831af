// Functions with several versions in glibc: a program linked against ThreadSanitizer's runtime asks for none.
// expect: nothing
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(void) {
    char *path = realpath("/usr/../usr", NULL);
    printf("realpath %s\n", path ? path : "null");
    free(path);
    regex_t regex;
    regcomp(&regex, "b+", REG_EXTENDED);
    regmatch_t match = {1, 4};
    printf("regexec %d\n", regexec(&regex, "abbc", 1, &match, REG_STARTEND));
    regfree(&regex);
    glob_t found;
    printf("glob %d\n", glob("/usr/inclu*", 0, NULL, &found));
    cpu_set_t set;
    printf("affinity %d\n", sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0);
    pthread_condattr_t attributes;
    pthread_cond_t condition;
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition, &attributes);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    pthread_mutex_lock(&lock);
    printf("timedwait %d\n", pthread_cond_timedwait(&condition, &lock, &now) == ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&condition);
    char *arguments[] = {"true", NULL};
    pid_t child;
    int status = 1;
    if (posix_spawnp(&child, "true", NULL, NULL, arguments, environ) == 0)
        waitpid(child, &status, 0);
    printf("spawned %d\n", status);
    return 0;
}
