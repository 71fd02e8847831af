import java.util.concurrent.locks.ReentrantLock;

/**
 * Much synchronisation and little else: two threads book on accounts that have a monitor each, in pairs, and count what they did
 * under a lock of java.util.concurrent.
 */
final class Locks {
    private static final int ACCOUNTS = 1_024;

    private static final class Account {
        private final int number;
        private long balance = 1_000;

        Account(int number) {
            this.number = number;
        }

        synchronized void add(long amount) {
            balance += amount;
        }

        synchronized long balance() {
            return balance;
        }
    }

    private final Account[] accounts = new Account[ACCOUNTS];
    private final ReentrantLock lock = new ReentrantLock();
    private long moves;
    private long moved;

    private Locks() {
        for (int i = 0; i < ACCOUNTS; i++) {
            accounts[i] = new Account(i);
        }
    }

    /** Both accounts are held, the one with the smaller number first. */
    void move(Account one, Account other, long amount) {
        Account first = one.number < other.number ? one : other;
        Account second = first == one ? other : one;
        synchronized (first) {
            synchronized (second) {
                one.add(-amount);
                other.add(amount);
            }
        }
    }

    void count(long amount) {
        lock.lock();
        try {
            moves++;
            moved += amount;
        } finally {
            lock.unlock();
        }
    }

    private void work(int seed, int rounds) {
        int random = seed;
        for (int i = 0; i < rounds; i++) {
            random = random * 1_103_515_245 + 12_345;
            int one = (random >>> 8) % ACCOUNTS;
            int other = (one + 1 + (random >>> 20) % (ACCOUNTS - 1)) % ACCOUNTS;
            move(accounts[one], accounts[other], i % 5);
            if (i % 8 == 0) {
                count(i % 5);
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        Locks locks = new Locks();
        long start = System.nanoTime();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            int seed = 99 + i;
            threads[i] = new Thread(() -> locks.work(seed, rounds));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long end = System.nanoTime();
        long digest = 0;
        for (Account account : locks.accounts) {
            digest = digest * 31 + account.balance();
        }
        System.out.println(locks.moves + " " + locks.moved + " " + digest);
        System.out.println("worked " + (end - start) / 1_000_000 + " ms");
    }
}
