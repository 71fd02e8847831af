// expect: clean
//
// The same with a lock and two conditions.
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

public class ConditionBuffer {
    static class Buffer {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition notFull = lock.newCondition();
        private final Condition notEmpty = lock.newCondition();
        private final int[] items = new int[2];
        private int first;
        private int count;

        void put(int item) throws InterruptedException {
            lock.lock();
            try {
                while (count == items.length) {
                    notFull.await();
                }
                items[(first + count) % items.length] = item;
                count++;
                notEmpty.signal();
            } finally {
                lock.unlock();
            }
        }

        int take() throws InterruptedException {
            lock.lockInterruptibly();
            try {
                while (count == 0) {
                    notEmpty.await();
                }
                int item = items[first];
                first = (first + 1) % items.length;
                count--;
                notFull.signal();
                return item;
            } finally {
                lock.unlock();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Buffer buffer = new Buffer();
        int[] sums = new int[2];
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 2; i++) {
            int self = i;
            threads[i] = new Thread(() -> {
                try {
                    for (int item = 1; item <= 200; item++) {
                        buffer.put(item);
                    }
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
            threads[2 + i] = new Thread(() -> {
                try {
                    for (int taken = 0; taken < 200; taken++) {
                        sums[self] += buffer.take();
                    }
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("sum " + (sums[0] + sums[1]) + ", expected 40200");
    }
}
