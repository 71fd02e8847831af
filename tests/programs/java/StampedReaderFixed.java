// expect: clean
//
// The read lock over both.
import atomvet.steps.Steps;
import java.util.concurrent.locks.StampedLock;

public class StampedReaderFixed {
    static class Point {
        private final StampedLock lock = new StampedLock();
        private int x = 3;
        private int y = 4;

        void moveTo(int newX, int newY) {
            long stamp = lock.writeLock();
            x = newX;
            y = newY;
            lock.unlockWrite(stamp);
        }

        int distance() {
            long stamp = lock.readLock();
            int seenX = x;
            Steps.interludeIfPossible();
            int seenY = y;
            lock.unlockRead(stamp);
            return seenX * seenX + seenY * seenY;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Point point = new Point();
        int[] seen = new int[1];
        Steps.run(() -> seen[0] = point.distance(), () -> point.moveTo(6, 8));
        System.out.println("distance " + seen[0] + ", expected 25 or 100");
    }
}
