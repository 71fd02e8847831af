package atomvet;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.TreeMap;

/**
 * Hooks that count, and that check what a hook may rely on. Runs programs and prints the counts behind their output.
 */
public final class Hooks {
    private static final Map<String, Integer> COUNTS = new TreeMap<>();
    private static final ThreadLocal<State> STATE = ThreadLocal.withInitial(State::new);

    private static final class State {
        /** Whether an access has begun that is not over. */
        boolean open;
        /** The blocks and synchronized methods that the thread is in, by site, with the monitor of those that have one. */
        final Deque<Object[]> entered = new ArrayDeque<>();
    }

    /** Runs the programs given, and prints what each of them did. */
    public static void main(String[] programs) throws Throwable {
        for (String program : programs) {
            System.out.println("program " + program);
            Class.forName(program).getMethod("main", String[].class).invoke(null, (Object) new String[0]);
            State state = STATE.get();
            check(!state.open, "an access is open at the end");
            check(state.entered.isEmpty(), "a block is open at the end");
            synchronized (COUNTS) {
                System.out.println("hooks" + COUNTS.toString().replaceAll("[{}, ]+", " ").stripTrailing());
                COUNTS.clear();
            }
        }
    }

    private static void count(String what) {
        synchronized (COUNTS) {
            COUNTS.merge(what, 1, Integer::sum);
        }
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            System.out.println("HOOKS: " + otherwise);
            new Throwable().printStackTrace(System.out);
        }
    }

    /** An access begins that will not throw, which ends the one before; or one that will. */
    private static void begin(String what, boolean fine) {
        if (fine) {
            STATE.get().open = true;
            count(what);
        } else {
            count("refused");
        }
    }

    public static void accessed() {
        STATE.get().open = false;
    }

    /** Something else happens that may take its time. */
    private static void goesOn(String what) {
        check(!STATE.get().open, what + " in the middle of an access");
        count(what);
    }

    /** Something ends, and with it an access. */
    private static void ends(String what) {
        STATE.get().open = false;
        count(what);
    }

    public static void read(Object object, int site) {
        begin("read", object != null);
    }

    public static void readByCall(Object object, int site) {
        begin("readByCall", object != null);
    }

    public static void cloned(Object original, Object copy) {
        check(original != copy && original.getClass() == copy.getClass(), "no copy");
        count("cloned");
    }

    public static void write(Object object, int site) {
        begin("write", object != null);
    }

    public static void write(Object object, Object value, int site) {
        begin("writeReference", object != null);
    }

    public static void readStatic(int site) {
        begin("readStatic", true);
    }

    public static void writeStatic(int site) {
        begin("writeStatic", true);
    }

    public static void writeStatic(Object value, int site) {
        begin("writeStaticReference", true);
    }

    private static boolean inside(Object array, int index) {
        return array != null && index >= 0 && index < java.lang.reflect.Array.getLength(array);
    }

    public static void readElement(int[] array, int index, int site) {
        begin("readInt", inside(array, index));
    }

    public static void readElement(long[] array, int index, int site) {
        begin("readLong", inside(array, index));
    }

    public static void readElement(float[] array, int index, int site) {
        begin("readFloat", inside(array, index));
    }

    public static void readElement(double[] array, int index, int site) {
        begin("readDouble", inside(array, index));
    }

    public static void readElement(Object[] array, int index, int site) {
        begin("readElement", inside(array, index));
    }

    public static void readElement(Object array, int index, int site) {
        begin("readByte", inside(array, index));
    }

    public static void readElement(char[] array, int index, int site) {
        begin("readChar", inside(array, index));
    }

    public static void readElement(short[] array, int index, int site) {
        begin("readShort", inside(array, index));
    }

    public static void writeElement(int[] array, int index, int site) {
        begin("writeInt", inside(array, index));
    }

    public static void writeElement(long[] array, int index, int site) {
        begin("writeLong", inside(array, index));
    }

    public static void writeElement(float[] array, int index, int site) {
        begin("writeFloat", inside(array, index));
    }

    public static void writeElement(double[] array, int index, int site) {
        begin("writeDouble", inside(array, index));
    }

    public static void writeElement(Object[] array, int index, Object value, int site) {
        boolean takes = inside(array, index)
                && (value == null || array.getClass().getComponentType().isInstance(value));
        begin("writeElement", takes);
    }

    public static void writeElement(Object array, int index, int site) {
        begin("writeByte", inside(array, index));
    }

    public static void writeElement(char[] array, int index, int site) {
        begin("writeChar", inside(array, index));
    }

    public static void writeElement(short[] array, int index, int site) {
        begin("writeShort", inside(array, index));
    }

    public static void acquired(Object object, int site) {
        check(Thread.holdsLock(object), "a monitor is acquired that is not held");
        goesOn("acquired");
    }

    public static void releasing(Object object, int site) {
        check(object == null || Thread.holdsLock(object), "a monitor is released that is not held");
        ends("releasing");
    }

    public static void enterSynchronized(Object object, int site) {
        check(object == null || Thread.holdsLock(object), "a synchronized method begins without its monitor");
        STATE.get().entered.push(new Object[] {site, object});
        goesOn("enterSynchronized");
    }

    public static void exitSynchronized(int site) {
        Object[] entered = leave(site);
        boolean holds = entered != null && (entered[1] == null || Thread.holdsLock(entered[1]));
        check(holds, "a synchronized method ends without its monitor");
        ends("exitSynchronized");
    }

    public static void enter(int site) {
        STATE.get().entered.push(new Object[] {site, null});
        goesOn("enter");
    }

    public static void exit(int site) {
        leave(site);
        ends("exit");
    }

    public static void enterCall(Object object, int site) {
        STATE.get().entered.push(new Object[] {site, object});
        goesOn("enterCall");
    }

    public static void enterCall(Object object, Object argument, int site) {
        STATE.get().entered.push(new Object[] {site, object});
        count("enterCallWith" + (argument == null ? "Null" : argument.getClass().getSimpleName()));
    }

    public static void enterCall(Object object, Object argument, long number, int site) {
        enterCall(object, argument, site);
        count("enterCallAt" + number);
    }

    public static void enterCall(Object object, int argument, int site) {
        STATE.get().entered.push(new Object[] {site, object});
        count("enterCallWith" + argument);
    }

    public static void calling(int site) {
        goesOn("calling");
    }

    public static void exitCall(int site) {
        leave(site);
        count("exitCall");
    }

    public static void exitCall(Object result, int site) {
        leave(site);
        count("exitCallWithReference");
    }

    public static void exitCall(boolean result, int site) {
        leave(site);
        count("exitCallWith" + result);
    }

    public static void exitCall(long result, int site) {
        leave(site);
        count("exitCallWith" + result);
    }

    public static void throwCall(int site) {
        leave(site);
        count("throwCall");
    }

    private static Object[] leave(int site) {
        Object[] entered = STATE.get().entered.poll();
        check(entered != null && entered[0].equals(site), "the block that ends is not the one that began last");
        return entered;
    }
}
