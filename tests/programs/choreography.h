/*
 * choreography.h: forces one interleaving of threads, unseen by the checker. Either as an interlude in one operation:
 *
 *   the leader                       the other thread
 *   lead();
 *   operation begins
 *     interlude();   ------------->  await_interlude();
 *       (waits)                      its whole operation
 *                    <-------------  end_interlude();
 *   operation ends
 *
 * There is one interlude in a run. Only the thread that called lead() stops at it, and only the first time, so that
 * both threads can call the same operation.
 *
 * Or as numbered steps of any threads: step(n) waits until n steps are done, done() says that one is.
 *
 * See choreography.c for why nobody can observe either.
 */
#ifndef CHOREOGRAPHY_H
#define CHOREOGRAPHY_H

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread is the one whose operation is interrupted. */
void lead(void);

/* Leader: lets the other thread act, and waits until it has finished. Must not be called with a lock held that the
 * other thread needs. */
void interlude(void);

/* Leader, with such a lock held: waits until the other thread is about to act, gives it every chance to, but goes on
 * after a bounded number of yields. For fixed programs, in which the other thread can do nothing until the lock is released; what they print
 * depends in no way on who gives up when. */
void interlude_if_possible(void);

/* Leader: lets the other thread act, and goes on at once. */
void open_interlude(void);

/* The other thread: waits until the leader has reached the interlude; says that the interlude is over. */
void await_interlude(void);
void end_interlude(void);

/* Waits until so many steps are done; a step is done. */
void step(int number);
void done(void);

/* C programs: runs both functions, each in a thread of its own, and waits for both. */
void run_two_threads(void *(*first)(void *), void *(*second)(void *));

#ifdef __cplusplus
}
#endif

/* A function whose verdict is expected by name: it keeps its name and its own entry and exit at every optimisation
 * level, also in a build that knows nothing of atomvet. */
#if defined(__clang__)
#define OPERATION __attribute__((noinline))
#else
#define OPERATION __attribute__((noipa))
#endif

#endif
