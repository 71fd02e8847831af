package atomvet.steps;

import java.util.concurrent.atomic.AtomicMarkableReference;
import java.util.concurrent.atomic.AtomicStampedReference;

/**
 * Calls a method of a structure in a thread of its own, and prints the line of the call and whether the structure is another
 * one than before. What is done here is seen by nobody.
 */
public final class Changes {
    /** A call of a method of a structure. */
    public interface Call<T> {
        void on(T structure) throws Exception;
    }

    private Changes() {}

    /** Makes one call. {@code mark} is told before, so that whoever records can tell calls apart. */
    public static <T> void step(Runnable mark, T structure, Call<T> call) throws InterruptedException {
        mark.run();
        String before = text(structure);
        Thread thread = new Thread(() -> {
            try {
                call.on(structure);
            } catch (Exception thrown) {
                throw new IllegalStateException(thrown);
            }
        });
        thread.start();
        thread.join();
        String after = text(structure);
        StackTraceElement caller = new Throwable().getStackTrace()[2];
        System.out.println(caller.getLineNumber() + " " + structure.getClass().getName() + " "
            + (before.equals(after) ? "same" : "changed"));
    }

    private static String text(Object structure) {
        if (structure instanceof AtomicStampedReference<?> pair) {
            return pair.getReference() + " " + pair.getStamp();
        }
        if (structure instanceof AtomicMarkableReference<?> pair) {
            return pair.getReference() + " " + pair.isMarked();
        }
        return String.valueOf(structure);
    }
}
