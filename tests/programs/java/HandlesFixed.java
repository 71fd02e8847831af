// expect: clean
//
// By handles and offsets, in one step each; and neighbours, which are variables of their own.
import atomvet.steps.Steps;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

public class HandlesFixed {
    private static final VarHandle COUNT;
    private static final VarHandle LEFT;
    private static final VarHandle RIGHT;
    private static final VarHandle BYTES = MethodHandles.arrayElementVarHandle(byte[].class);
    private static final Unsafe UNSAFE;
    private static final long OFFSET;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            COUNT = lookup.findVarHandle(HandlesFixed.class, "count", int.class);
            LEFT = lookup.findVarHandle(HandlesFixed.class, "left", boolean.class);
            RIGHT = lookup.findVarHandle(HandlesFixed.class, "right", boolean.class);
            Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            UNSAFE = (Unsafe) unsafe.get(null);
            OFFSET = UNSAFE.objectFieldOffset(HandlesFixed.class.getDeclaredField("other"));
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private volatile int count;
    private volatile long other;
    private boolean left;
    private boolean right;
    private final byte[] bytes = new byte[4];

    void count() {
        COUNT.getAndAdd(this, 2);
        Steps.interlude();
    }

    void other() {
        Steps.interlude();
        UNSAFE.getAndAddLong(this, OFFSET, 1L);
    }

    void left() {
        boolean seen = (boolean) LEFT.getVolatile(this);
        byte first = (byte) BYTES.get(bytes, 1);
        Steps.interlude();
        LEFT.setVolatile(this, !seen);
        BYTES.set(bytes, 1, (byte) (first + 1));
    }

    void right() {
        BYTES.set(bytes, 2, (byte) 5);
        RIGHT.setVolatile(this, true);
    }

    public static void main(String[] arguments) throws InterruptedException {
        HandlesFixed all = new HandlesFixed();
        Steps.run(all::count, all::count);
        Steps.run(all::other, all::other);
        Steps.run(all::left, all::right);
        try {
            BYTES.getVolatile(all.bytes, 4);
        } catch (IndexOutOfBoundsException expected) {
            System.out.println("out of bounds");
        }
        System.out.println(all.count + " " + all.other + " " + all.left + " " + all.right + " " + all.bytes[1]);
    }
}
