// expect: clean
//
// The write lock over all; readers that only read share the lock; a writer may downgrade.
import atomvet.steps.Steps;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class ReadWriteUpgradeFixed {
    static class Cache {
        private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        private int value;
        private int computed;

        int value() {
            lock.writeLock().lock();
            int seen;
            try {
                if (value == 0) {
                    Steps.interludeIfPossible();
                    computed++;
                    value = 42;
                }
                lock.readLock().lock();
            } finally {
                lock.writeLock().unlock();
            }
            seen = value;
            lock.readLock().unlock();
            return seen;
        }

        int peek() {
            lock.readLock().lock();
            try {
                return value + computed;
            } finally {
                lock.readLock().unlock();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Cache cache = new Cache();
        Steps.run(
                () -> {
                    cache.value();
                    cache.peek();
                },
                () -> {
                    cache.value();
                    cache.peek();
                });
        System.out.println("computed " + cache.computed + " times, expected 1");
    }
}
