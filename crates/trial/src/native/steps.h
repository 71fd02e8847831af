/* What walker.c and steps.c share. The numbers are those of program.rs. */
#include <pthread.h>

enum { NUMBERS = 128, LABELS = 6, LOCKS = 6, SEMAPHORES = 2, INITIALISATIONS = 2, SLOTS = 3, SLOT_BYTES = 48, ARENA_BYTES = 128 };

struct step {
    int thread;
    char operation;
    int a, b, c, d, e;
};

struct program {
    int number, threads, initial, parties, has_child, count;
    struct step *steps;
};

struct program *read_programs(const char *path, int *count);
void begin_program(struct program *program);
void await_end(void);
struct program *child_of_running(void);
void enter_thread(int thread);
pthread_t *handle(int thread);
struct step await_step(void);
void end_step(void);
void enter_handler(void);
void interrupt_thread(int thread);
void wait_for_process(int process);
void signal_waiter(int lock);
int take_signal(int lock);
void *slot(int number);
void set_slot(int number, void *memory);
unsigned __int128 peek(const void *address, int width);
void must(int holds, const char *what);
int value_of_step(void);
