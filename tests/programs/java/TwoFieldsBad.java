// expect: violated TwoFieldsBad$Range.isEmpty
//
// Two fields that must agree, each under a lock of its own: a reader sees half of a change.
//
//   T1: [ r(low)                r(high) ]
//   T2:          [ w(low) w(high) ]
import atomvet.steps.Steps;

public class TwoFieldsBad {
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
            int seenLow;
            synchronized (lowLock) { // begins
                seenLow = low;
            }
            Steps.interlude();
            synchronized (highLock) { // returns
                return seenLow > high; // returns
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
