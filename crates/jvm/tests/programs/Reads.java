import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Calls that are reads: of one slot and of two, one after the other, in a loop, and of nothing; and one that makes a copy. */
public class Reads implements Cloneable {
    private final AtomicInteger number = new AtomicInteger(3);
    private final AtomicLong large = new AtomicLong(1L << 40);
    private AtomicInteger nothing;

    int get() {
        return number.get();
    }

    void set() {
        number.set(5);
    }

    int atLeast(int least) {
        return Math.max(number.get(), least);
    }

    long both() {
        return number.get() + large.get();
    }

    int repeated() {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += number.get();
        }
        return sum;
    }

    int none() {
        try {
            return nothing.get();
        } catch (NullPointerException thrown) {
            return -1;
        }
    }

    Reads copy() throws CloneNotSupportedException {
        return (Reads) super.clone();
    }

    public static void main(String[] arguments) throws CloneNotSupportedException {
        Reads reads = new Reads();
        System.out.println(reads.get() + " " + reads.atLeast(4) + " " + reads.both());
        reads.copy().set();
        System.out.println(reads.repeated() + " " + reads.none());
    }
}
