package atomvet.steps;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

/**
 * Forces the order of the steps of a program. Classes of this package have no hooks: the checker does not see that threads wait
 * for each other here.
 *
 * <p>A step is what a thread does between {@link #await} and {@link #done}. Steps nest; the outermost one counts.
 */
public final class Turn {
    /** A thread as the order knows it. Its fields are used by one thread at a time. */
    private static final class Actor {
        volatile Thread thread;
        int number;
        int at = -1;
        int depth;
    }

    /** Thrown by programs. */
    public static final class Thrown extends RuntimeException {
        private static final long serialVersionUID = 1;

        public Thrown() {
            super(null, null, false, false);
        }
    }

    private static final long PATIENCE = 60_000_000_000L;
    private static final ThreadLocal<Actor> ME = new ThreadLocal<>();
    private static volatile byte[] order;
    private static volatile Actor[] actors;
    private static volatile int turn;
    private static volatile String program;
    private static final Object[] KEPT = new Object[64];
    private static final int[] SIGNALS = new int[64];
    /** Volatile, so that what is read is really read. */
    private static volatile int used;

    private Turn() {}

    /** A program begins: per step, the number of the thread that takes it, as a character from 'A'. */
    public static void begin(String name, String steps, int threads) {
        program = name;
        byte[] numbers = new byte[steps.length()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = (byte) (steps.charAt(i) - 'A');
        }
        Actor[] all = new Actor[threads];
        for (int i = 0; i < threads; i++) {
            all[i] = new Actor();
            all[i].number = i;
        }
        java.util.Arrays.fill(KEPT, null);
        java.util.Arrays.fill(SIGNALS, 0);
        order = numbers;
        actors = all;
        turn = 0;
    }

    /** It is over; all steps were taken. */
    public static void end() {
        if (turn != order.length) {
            fail("ended at step " + turn + " of " + order.length);
        }
    }

    /** The running thread is this one from now on. */
    public static void enter(int number) {
        Actor me = actors[number];
        me.thread = Thread.currentThread();
        ME.set(me);
    }

    /** Waits until the thread's next step is due. */
    public static void await() {
        Actor me = ME.get();
        if (me.depth++ > 0) {
            return;
        }
        byte[] all = order;
        int next = me.at + 1;
        while (next < all.length && all[next] != me.number) {
            next++;
        }
        if (next == all.length) {
            fail("thread " + me.number + " has no step after " + me.at);
        }
        me.at = next;
        long since = 0;
        for (int tries = 0; turn != next; tries++) {
            if (tries < 20) {
                Thread.onSpinWait();
                continue;
            }
            long now = System.nanoTime();
            since = since == 0 ? now : since;
            if (now - since > PATIENCE) {
                fail("thread " + me.number + " waits for step " + next + " at step " + turn);
            }
            LockSupport.parkNanos(5_000_000);
        }
    }

    /** Lets the next step begin. */
    public static void done() {
        Actor me = ME.get();
        if (--me.depth > 0) {
            return;
        }
        if (me.depth < 0) {
            fail("thread " + me.number + " ends a step that it has not begun");
        }
        byte[] all = order;
        int next = me.at + 1;
        turn = next;
        if (next < all.length) {
            LockSupport.unpark(actors[all[next]].thread);
        }
    }

    private static void fail(String what) {
        System.err.println("the order of " + program + " cannot be kept: " + what);
        Runtime.getRuntime().halt(99);
    }

    /** True, which the compiler does not know. */
    public static boolean yes() {
        return turn >= 0;
    }

    /** Says that a call must have had this result. */
    public static void expect(boolean holds) {
        if (!holds) {
            fail("a call had another result than expected at step " + turn);
        }
    }

    /** Another thread that waits for this is to go on. */
    public static void signal(int condition) {
        SIGNALS[condition]++;
    }

    /** Whether there was a signal, which is used up. */
    public static boolean take(int condition) {
        return SIGNALS[condition] > 0 && SIGNALS[condition]-- > 0;
    }

    /** Keeps a thread or a task where the checker does not see it. */
    public static void keep(int place, Object object) {
        KEPT[place] = object;
    }

    public static Thread thread(int place) {
        return (Thread) KEPT[place];
    }

    public static Future<?> future(int place) {
        return (Future<?>) KEPT[place];
    }

    public static void use(boolean value) {
        used = value ? 1 : 0;
    }

    public static void use(int value) {
        used = value;
    }

    public static void use(long value) {
        used = (int) value;
    }

    public static void use(float value) {
        used = (int) value;
    }

    public static void use(double value) {
        used = (int) value;
    }

    public static void use(Object value) {
        used = value == null ? 1 : 0;
    }

    // What an atomic has now, unseen.

    public static int peek(AtomicInteger atomic) {
        return atomic.get();
    }

    public static long peek(AtomicLong atomic) {
        return atomic.get();
    }

    public static boolean peek(AtomicBoolean atomic) {
        return atomic.get();
    }

    public static <T> T peek(AtomicReference<T> atomic) {
        return atomic.get();
    }

    public static int peek(AtomicIntegerArray array, int index) {
        return array.get(index);
    }

    public static long peek(AtomicLongArray array, int index) {
        return array.get(index);
    }

    public static int peek(VarHandle handle, Object object) {
        return (int) handle.getVolatile(object);
    }

    public static boolean has(Map<String, Integer> map, String key) {
        return map.containsKey(key);
    }

    /** The same map, with these keys in it. */
    public static Map<String, Integer> filled(Map<String, Integer> map, int keys) {
        for (int i = 0; i < keys; i++) {
            map.put("k" + i, 0);
        }
        return map;
    }

    /** The same list, with an element in it. */
    public static java.util.List<Integer> filled(java.util.List<Integer> list) {
        list.add(0);
        return list;
    }

    public static VarHandle handle(MethodHandles.Lookup lookup, Class<?> owner, String field, Class<?> type) {
        try {
            return lookup.findVarHandle(owner, field, type);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
