// expect: clean

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads take turns, by a volatile field and by an atomic, and each looks at them much more often than it is its turn. Nothing is ever wrong. But
 * whoever took a look for older than the change that it saw, or a change that was tried in vain for one that was made, would believe so.
 */
public class TakingTurns {
    /** More than there are words of the filter. */
    private static final int THREADS = 6;
    private static final int ROUNDS = 4_000;

    private static volatile int turn;
    private static final AtomicInteger ATOMIC_TURN = new AtomicInteger();
    private static int count;
    private static int otherCount;

    static boolean act(int me) {
        if (turn != me) {
            return false;
        }
        count++;
        turn = (me + 1) % THREADS;
        return true;
    }

    static boolean actByAtomic(int me) {
        if (ATOMIC_TURN.get() != me) {
            return false;
        }
        otherCount++;
        ATOMIC_TURN.set((me + 1) % THREADS);
        return true;
    }

    static boolean tryInVain(int me) {
        return ATOMIC_TURN.compareAndSet(-1, me);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int me = i;
            threads[i] = new Thread(() -> {
                int acted = 0;
                int actedByAtomic = 0;
                while (acted < ROUNDS || actedByAtomic < ROUNDS) {
                    acted += acted < ROUNDS && act(me) ? 1 : 0;
                    actedByAtomic += actedByAtomic < ROUNDS && actByAtomic(me) ? 1 : 0;
                    actedByAtomic += tryInVain(me) ? 1 : 0;
                    Thread.yield();
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(count + " " + otherCount);
    }
}
