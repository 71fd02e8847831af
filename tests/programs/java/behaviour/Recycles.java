import atomvet.steps.Turns;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Objects that are gone, and others that come after them: what was done to the first is not done to the others.
 *
 * <pre>
 *   Recycles KIND clean  in the middle of fill, use looks at what fill has done, after it has used other objects, which are gone by now
 *   Recycles KIND bad    the same, and use also looks at a new one before fill is done with it: fill is to blame
 * </pre>
 */
public class Recycles {
    private static final int MANY = 20_000;

    interface Thing {
        void set(int value);

        int get();
    }

    static class Field implements Thing {
        private volatile int value;

        public void set(int to) {
            value = to;
        }

        public int get() {
            return value;
        }
    }

    /** An object without a number in it. */
    static class Atomic implements Thing {
        private final AtomicInteger value = new AtomicInteger();

        public void set(int to) {
            value.set(to);
        }

        public int get() {
            return value.get();
        }
    }

    /** A lock of which the filter knows nothing. */
    static class Lock implements Thing {
        private final ReentrantLock lock = new ReentrantLock();

        public void set(int to) {
            lock.lock();
            lock.unlock();
        }

        public int get() {
            lock.lock();
            lock.unlock();
            return 0;
        }
    }

    /** An array, which is a lock as well. */
    static class Element implements Thing {
        private final int[] values = new int[5];

        public void set(int to) {
            synchronized (values) {
                values[3] = to;
            }
        }

        public int get() {
            synchronized (values) {
                return values[3];
            }
        }
    }

    private static volatile Thing[] others;
    private static volatile int filled;
    private static int sum;

    private static Thing thing(String kind) {
        switch (kind) {
            case "field": return new Field();
            case "atomic": return new Atomic();
            case "lock": return new Lock();
            default: return new Element();
        }
    }

    static void use(Thing[] things, boolean looks) {
        for (int i = 0; i < MANY; i++) {
            things[i].set(things[i].get() + 1);
            things[i] = null;
        }
        Turns.next(2);
        sum += filled;
        Turns.next(4);
        if (looks) {
            sum += others[MANY - 1].get();
        }
        Turns.end();
    }

    static void fill(String kind) {
        filled = 1;
        Turns.next(3);
        Thing[] things = new Thing[MANY];
        others = things;
        for (int i = 0; i < MANY; i++) {
            things[i] = thing(kind);
            things[i].set(i + 2);
        }
        Turns.next(5);
        things[MANY - 1].set(-1);
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thing[] things = new Thing[MANY];
        for (int i = 0; i < MANY; i++) {
            things[i] = thing(arguments[0]);
        }
        Thread user = new Thread(() -> use(things, arguments[1].equals("bad")));
        Thread filler = new Thread(() -> {
            Turns.await(1);
            System.gc();
            fill(arguments[0]);
        });
        user.start();
        filler.start();
        user.join();
        filler.join();
        System.out.println(sum);
    }
}
