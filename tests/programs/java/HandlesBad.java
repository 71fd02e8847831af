// expect: violated HandlesBad.field
// expect: violated HandlesBad.shared
// expect: violated HandlesBad.element
// expect: violated HandlesBad.exchange
// expect: violated HandlesBad.mixed
// expect: violated HandlesBad.unsafe
//
// Read, then written, by handles and offsets: each access is atomic, both together are not.
//
//   T1: [ get()           set() ]
//   T2:          [ … ]
import atomvet.steps.Steps;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

public class HandlesBad {
    private static final VarHandle FIELD;
    private static final VarHandle SHARED;
    private static final VarHandle ELEMENT = MethodHandles.arrayElementVarHandle(String[].class);
    private static final Unsafe UNSAFE;
    private static final long OFFSET;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            FIELD = lookup.findVarHandle(HandlesBad.class, "count", int.class);
            SHARED = lookup.findStaticVarHandle(HandlesBad.class, "total", long.class);
            Field unsafe = Unsafe.class.getDeclaredField("theUnsafe");
            unsafe.setAccessible(true);
            UNSAFE = (Unsafe) unsafe.get(null);
            OFFSET = UNSAFE.objectFieldOffset(HandlesBad.class.getDeclaredField("other"));
        } catch (ReflectiveOperationException error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private volatile int count;
    private volatile int other;
    private static long total;
    private final String[] names = {"", ""};

    void field() {
        int seen = (int) FIELD.getVolatile(this);
        Steps.interlude();
        FIELD.setVolatile(this, seen + 1);
    }

    void shared() {
        long seen = (long) SHARED.getAcquire();
        Steps.interlude();
        SHARED.setRelease(seen + 1);
    }

    void element() {
        String seen = (String) ELEMENT.getVolatile(names, 1);
        Steps.interlude();
        ELEMENT.setVolatile(names, 1, seen + "x");
    }

    void exchange() {
        int seen = (int) FIELD.getVolatile(this);
        Steps.interlude();
        if (!FIELD.compareAndSet(this, seen + 1, seen)) {
            FIELD.getAndBitwiseOr(this, 16);
        }
    }

    void mixed() {
        int seen = count;
        Steps.interlude();
        FIELD.set(this, seen + 1);
    }

    void unsafe() {
        int seen = UNSAFE.getIntVolatile(this, OFFSET);
        Steps.interlude();
        UNSAFE.compareAndSwapInt(this, OFFSET, seen + 1, seen + 7);
    }

    public static void main(String[] arguments) throws InterruptedException {
        HandlesBad all = new HandlesBad();
        Steps.run(all::field, all::field);
        Steps.run(all::shared, all::shared);
        Steps.run(all::element, all::element);
        Steps.run(all::exchange, () -> FIELD.getAndAdd(all, 1));
        Steps.run(all::mixed, all::field);
        Steps.run(all::unsafe, () -> UNSAFE.getAndAddInt(all, OFFSET, 1));
        System.out.println(all.count + " " + total + " " + all.names[1] + " " + all.other);
    }
}
