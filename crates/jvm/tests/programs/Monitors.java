public class Monitors {
    private final Object left = new Object();
    private final Object right = new Object();
    private int count;
    private volatile boolean ready;

    synchronized int increment(int by) {
        count += by;
        return count;
    }

    static synchronized long twice(long value) {
        return 2 * value;
    }

    synchronized void fails() {
        throw new IllegalStateException("inside");
    }

    /** Local 0 does not stay what it was in every language, so the exit must not need it. */
    synchronized Object recursive(int depth) {
        return depth == 0 ? this : recursive(depth - 1);
    }

    int nested() {
        synchronized (left) {
            synchronized (right) {
                if (count > 2) {
                    return count;
                }
                synchronized (left) {
                    count++;
                }
            }
            count++;
        }
        return -1;
    }

    void throwing() {
        synchronized (left) {
            synchronized (right) {
                throw new IllegalArgumentException("both held");
            }
        }
    }

    void handOver() throws InterruptedException {
        Thread other = new Thread(() -> {
            synchronized (left) {
                ready = true;
                left.notifyAll();
            }
        });
        synchronized (left) {
            other.start();
            while (!ready) {
                left.wait();
            }
        }
        other.join();
    }

    public static void main(String[] arguments) throws Exception {
        Monitors monitors = new Monitors();
        System.out.println(monitors.nested() + " " + monitors.nested() + " " + monitors.nested());
        System.out.println(monitors.increment(3) + " " + twice(4));
        try {
            monitors.fails();
        } catch (IllegalStateException thrown) {
            System.out.println(thrown.getMessage() + " " + Thread.holdsLock(monitors));
        }
        try {
            monitors.throwing();
        } catch (IllegalArgumentException thrown) {
            System.out.println(thrown.getMessage() + " " + Thread.holdsLock(monitors.left));
        }
        System.out.println(monitors.recursive(3) == monitors);
    }
}
