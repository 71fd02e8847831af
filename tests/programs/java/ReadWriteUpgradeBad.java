// expect: violated ReadWriteUpgradeBad$Cache.value
//
// A read lock cannot be upgraded: it is given back and the write lock is taken. What was seen may be over by then.
//
//   T1: [ read lock r(value) unlock                        write lock w(value) ]
//   T2:                              [ the same, whole ]
import atomvet.steps.Steps;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class ReadWriteUpgradeBad {
    static class Cache {
        private final ReadWriteLock lock = new ReentrantReadWriteLock();
        private int value;
        private int computed;

        int value() {
            lock.readLock().lock(); // begins
            int seen = value;
            lock.readLock().unlock();
            if (seen != 0) {
                return seen;
            }
            Steps.interlude();
            lock.writeLock().lock(); // returns
            computed++; // returns
            value = 42; // returns
            lock.writeLock().unlock();
            return 42;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Cache cache = new Cache();
        Steps.run(() -> cache.value(), () -> cache.value());
        System.out.println("computed " + cache.computed + " times, expected 1");
    }
}
