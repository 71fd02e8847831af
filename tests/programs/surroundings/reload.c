/* Loads libraries one after the other, LIBRARY FUNCTION …, and has two threads call the function of each; says whether they
 * were at the same place. */
#include <dlfcn.h>
#include <stdio.h>

#include "choreography.h"

static void (*operation)(int reads_at, int writes_at);
static int round_start;

static void *slow(void *unused)
{
    operation(round_start, round_start + 3);
    return unused;
}

static void *quick(void *unused)
{
    operation(round_start + 1, round_start + 2);
    return unused;
}

int main(int count, char **arguments)
{
    void *first = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        void *library = dlopen(arguments[i], RTLD_NOW);
        if (library == NULL) {
            puts(dlerror());
            return 1;
        }
        operation = (void (*)(int, int))dlsym(library, arguments[i + 1]);
        if (first == NULL)
            first = (void *)operation;
        run_two_threads(slow, quick);
        round_start += 4;
        puts((void *)operation == first ? "here" : "elsewhere");
        dlclose(library);
    }
    return 0;
}
