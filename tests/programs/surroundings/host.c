/* Loads the library that its argument names, and calls `deposit` of it in two threads. */
#include <dlfcn.h>
#include <stdio.h>

#include "choreography.h"

static void (*deposit)(int);

static void *first_worker(void *unused)
{
    lead();
    deposit(50);
    return unused;
}

static void *second_worker(void *unused)
{
    await_interlude();
    deposit(50);
    end_interlude();
    return unused;
}

int main(int count, char **arguments)
{
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    deposit = (void (*)(int))dlsym(library, "deposit");
    run_two_threads(first_worker, second_worker);
    printf("%d\n", *(int *)dlsym(library, "plugin_balance"));
    return 0;
}
