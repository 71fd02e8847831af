package atomvet.steps;

/** Lets two threads act at the same moment, as nearly as can be, without order between them that the checker sees. */
public final class Gate {
    private static volatile int arrived;

    private Gate() {}

    /** Runs both in threads of their own, to their end. */
    public static void both(Runnable one, Runnable two) throws InterruptedException {
        arrived = 0;
        Thread first = new Thread(() -> through(one));
        Thread second = new Thread(() -> through(two));
        first.start();
        second.start();
        first.join();
        second.join();
    }

    private static void through(Runnable act) {
        synchronized (Gate.class) {
            arrived++;
        }
        while (arrived < 2) {
            Thread.onSpinWait();
        }
        act.run();
    }
}
