import atomvet.steps.Turns;
import java.util.ArrayList;

/**
 * Objects of which the JDK makes copies; then the originals are gone, and others come. What one thread does to the copies in two steps is nothing to
 * the others, which another thread changes in between.
 */
public class Copies {
    private static final int MANY = 4_000;

    static class Part extends ArrayList<String> {
        private int value;

        synchronized int get() {
            return value;
        }

        synchronized void set(int to) {
            value = to;
        }
    }

    private static Part[] copies;

    private static Part[] parts() {
        Part[] parts = new Part[MANY];
        for (int i = 0; i < MANY; i++) {
            parts[i] = new Part();
            parts[i].set(i);
        }
        return parts;
    }

    private static void copy() {
        Part[] made = new Part[MANY];
        Part[] parts = parts();
        for (int i = 0; i < MANY; i++) {
            made[i] = (Part) parts[i].clone();
        }
        copies = made;
    }

    static void addUp() {
        int sum = 0;
        for (Part copy : copies) {
            sum += copy.get();
        }
        Turns.next(2);
        for (Part copy : copies) {
            copy.set(sum);
        }
    }

    static void change(Part[] parts) {
        for (Part part : parts) {
            part.set(7);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        copy();
        System.gc();
        Part[] others = parts();
        Thread first = new Thread(() -> addUp());
        Thread second = new Thread(() -> {
            Turns.await(1);
            change(others);
            Turns.end();
        });
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println(copies[0].get() + " " + others[0].get());
    }
}
