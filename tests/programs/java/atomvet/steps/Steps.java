package atomvet.steps;

/**
 * Forces the one interleaving that matters, unseen by the checker.
 *
 * <p>A latch or a semaphore would order the threads in its eyes, and so change the verdict. Classes of the package
 * {@code atomvet.steps} are never given hooks, and what is used here (volatile fields, yielding, asking a thread for
 * its state) raises no event of the JVM's either. Only the start and the end of the two threads are meant to be seen.
 *
 * <pre>
 *   leader:  [ first half   interlude();             second half ]
 *   other:                              operation
 * </pre>
 */
public final class Steps {
    private static volatile Thread leader;
    private static volatile Thread other;
    private static volatile boolean begun;
    private static volatile boolean over;

    private Steps() {}

    /** Runs two threads to their end. The first comes to an interlude, in which the second acts. */
    public static void run(Runnable leading, Runnable acting) throws InterruptedException {
        begun = false;
        over = false;
        other = null;
        Thread first = new Thread(() -> {
            leader = Thread.currentThread();
            leading.run();
        });
        Thread second = new Thread(() -> {
            while (!begun) {
                Thread.yield();
            }
            other = Thread.currentThread();
            acting.run();
            over = true;
        });
        first.start();
        second.start();
        first.join();
        second.join();
    }

    /** In the leader, when it comes here first: lets the other thread do its part. */
    public static void interlude() {
        if (begin()) {
            while (!over) {
                Thread.yield();
            }
        }
    }

    /** The same, where the other thread may have to wait for the leader: until it has done its part or does wait. */
    public static void interludeIfPossible() {
        if (begin()) {
            while (!over && (other == null || other.getState() == Thread.State.RUNNABLE)) {
                Thread.yield();
            }
        }
    }

    private static boolean begin() {
        if (Thread.currentThread() != leader) {
            return false;
        }
        leader = null;
        begun = true;
        return true;
    }
}
