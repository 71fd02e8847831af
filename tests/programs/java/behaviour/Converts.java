// A lock with stamps changes its mode while it is held, and all permits of a semaphore are taken at once: every lock that is given
// back was taken.
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.StampedLock;

public class Converts {
    private static final StampedLock LOCK = new StampedLock();
    private static final Semaphore PERMITS = new Semaphore(0);
    private static int balance;

    static void upgrade() {
        long stamp = LOCK.readLock();
        try {
            int seen = balance;
            while (true) {
                long writing = LOCK.tryConvertToWriteLock(stamp);
                if (writing != 0) {
                    stamp = writing;
                    break;
                }
                LOCK.unlockRead(stamp);
                stamp = LOCK.writeLock();
                seen = balance;
            }
            balance = seen + 1;
        } finally {
            LOCK.unlock(stamp);
        }
    }

    static int downgrade() {
        long stamp = LOCK.writeLock();
        balance++;
        stamp = LOCK.tryConvertToReadLock(stamp);
        int seen = balance;
        LOCK.unlockRead(stamp);
        return seen;
    }

    static void giveUp() {
        long stamp = LOCK.writeLock();
        balance++;
        LOCK.tryConvertToOptimisticRead(stamp);
        stamp = LOCK.tryOptimisticRead();
        stamp = LOCK.tryConvertToReadLock(stamp);
        if (stamp != 0) {
            LOCK.tryConvertToOptimisticRead(stamp);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Runnable work = () -> {
            for (int i = 0; i < 200; i++) {
                // By itself: where another thread comes between, the second attempt is no single step.
                synchronized (Converts.class) {
                    upgrade();
                    downgrade();
                    giveUp();
                }
                PERMITS.release(2);
            }
        };
        Thread[] threads = {new Thread(work), new Thread(work)};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(balance + " " + PERMITS.drainPermits() + " " + PERMITS.tryAcquire());
    }
}
