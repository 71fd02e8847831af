// expect: clean
//
// The reader holds both locks.
import atomvet.steps.Steps;

public class TwoFieldsFixed {
    static class Range {
        private final Object lowLock = new Object();
        private final Object highLock = new Object();
        private int low = 10;
        private int high = 20;

        void moveBy(int distance) {
            synchronized (lowLock) {
                synchronized (highLock) {
                    low += distance;
                    high += distance;
                }
            }
        }

        boolean isEmpty() {
            synchronized (lowLock) {
                int seenLow = low;
                Steps.interludeIfPossible();
                synchronized (highLock) {
                    return seenLow > high;
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Range range = new Range();
        boolean[] answer = new boolean[1];
        Steps.run(() -> answer[0] = range.isEmpty(), () -> range.moveBy(-15));
        System.out.println("empty " + answer[0] + ", expected false");
    }
}
