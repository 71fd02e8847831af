// expect: violated VectorCopyBad$Vec.<init>
//
// The copy constructor of the papers' Vector: the size and the elements are asked for in two calls, each of which is
// synchronized. (Since Java 9 java.util.Vector asks once.)
//
//   T1: [ size()                          toArray() ]
//   T2:          removeAllElements()  add()
import atomvet.steps.Steps;
import java.util.Arrays;

public class VectorCopyBad {
    static class Vec {
        private Object[] elements;
        private int size;

        Vec() {
            elements = new Object[4];
        }

        Vec(Vec other) { // begins
            size = other.size();
            Steps.interlude();
            elements = other.toArray(size);
        }

        synchronized int size() {
            return size;
        }

        synchronized Object[] toArray(int length) { // returns
            return Arrays.copyOf(elements, length); // returns
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
