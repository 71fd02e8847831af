// expect: clean
//
// Locks that are tried, re-entered, counted, shared, and given back when something goes wrong: all of them protect.
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

public class LocksOfAllKinds {
    interface Guard {
        void enter() throws InterruptedException;

        void leave();
    }

    static class Counter {
        private final Guard guard;
        private int count;
        private int copy;

        Counter(Guard guard) {
            this.guard = guard;
        }

        void add() throws InterruptedException {
            guard.enter();
            try {
                int seen = count;
                Thread.yield();
                count = seen + 1;
                if (copy != seen) {
                    throw new IllegalStateException("not exclusive");
                }
                copy = count;
            } finally {
                guard.leave();
            }
        }
    }

    static Guard by(Lock lock) {
        return new Guard() {
            @Override
            public void enter() throws InterruptedException {
                while (!lock.tryLock()) {
                    lock.lockInterruptibly();
                    return;
                }
            }

            @Override
            public void leave() {
                lock.unlock();
            }
        };
    }

    static int twoThreads(Guard guard) throws InterruptedException {
        Counter counter = new Counter(guard);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                try {
                    for (int round = 0; round < 100; round++) {
                        counter.add();
                    }
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return counter.count;
    }

    public static void main(String[] arguments) throws InterruptedException {
        int sum = twoThreads(by(new ReentrantLock(true)));
        sum += twoThreads(by(new ReentrantReadWriteLock().writeLock()));
        sum += twoThreads(by(new StampedLock().asWriteLock()));
        StampedLock stamped = new StampedLock();
        sum += twoThreads(new Guard() {
            private long stamp;

            @Override
            public void enter() {
                stamp = stamped.writeLock();
            }

            @Override
            public void leave() {
                stamped.unlock(stamp);
            }
        });
        Semaphore semaphore = new Semaphore(3);
        sum += twoThreads(new Guard() {
            @Override
            public void enter() throws InterruptedException {
                semaphore.acquire(3);
            }

            @Override
            public void leave() {
                semaphore.release(3);
            }
        });
        ReentrantLock reentered = new ReentrantLock();
        sum += twoThreads(new Guard() {
            @Override
            public void enter() {
                reentered.lock();
                reentered.lock();
                reentered.unlock();
            }

            @Override
            public void leave() {
                reentered.unlock();
            }
        });
        System.out.println("sum " + sum + ", expected 1200");
    }
}
