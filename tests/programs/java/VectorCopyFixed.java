// expect: clean
//
// The lock of the other vector over both calls.
import atomvet.steps.Steps;
import java.util.Arrays;

public class VectorCopyFixed {
    static class Vec {
        private Object[] elements;
        private int size;

        Vec() {
            elements = new Object[4];
        }

        Vec(Vec other) {
            synchronized (other) {
                size = other.size();
                Steps.interludeIfPossible();
                elements = other.toArray(size);
            }
        }

        synchronized int size() {
            return size;
        }

        synchronized Object[] toArray(int length) {
            return Arrays.copyOf(elements, length);
        }

        synchronized void removeAllElements() {
            Arrays.fill(elements, 0, size, null);
            size = 0;
        }

        synchronized void add(Object element) {
            if (size == elements.length) {
                elements = Arrays.copyOf(elements, 2 * size);
            }
            elements[size++] = element;
        }

        synchronized String text() {
            return Arrays.toString(Arrays.copyOf(elements, size));
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Vec original = new Vec();
        original.add("a");
        original.add("b");
        String[] copy = new String[1];
        Steps.run(
                () -> copy[0] = new Vec(original).text(),
                () -> {
                    original.removeAllElements();
                    original.add("c");
                });
        System.out.println(copy[0] + ", expected [a, b], [] or [c]");
    }
}
