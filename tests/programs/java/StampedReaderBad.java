// expect: violated StampedReaderBad$Point.distance
//
// The read lock of a stamped lock, taken twice.
//
//   T1: [ read lock r(x) unlock                                       read lock r(y) unlock ]
//   T2:                          [ write lock w(x) w(y) unlock ]
import atomvet.steps.Steps;
import java.util.concurrent.locks.StampedLock;

public class StampedReaderBad {
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
            long stamp = lock.readLock(); // begins
            int seenX = x;
            lock.unlockRead(stamp);
            Steps.interlude();
            stamp = lock.readLock(); // returns
            int seenY = y; // returns
            lock.unlock(stamp);
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
