// Objects that the collector moves, between the two halves of a violation, are still the same ones: Moving$Account.deposit
// and Moving.add are not atomic. And what takes the place of objects that are gone is not: nothing else is wrong.
import atomvet.steps.Steps;

public class Moving {
    static class Account {
        int balance = 100;

        void deposit(int amount) {
            int seen;
            synchronized (this) {
                seen = balance;
            }
            collect();
            Steps.interlude();
            collect();
            synchronized (this) {
                balance = seen + amount;
            }
        }
    }

    static void add(int[] sums, Object lock) {
        int seen;
        synchronized (lock) {
            seen = sums[1];
        }
        collect();
        Steps.interlude();
        collect();
        synchronized (lock) {
            sums[1] = seen + 1;
        }
    }

    /** Makes garbage, and has everything that lives moved. */
    static void collect() {
        Object[] kept = new Object[100];
        for (int i = 0; i < 200_000; i++) {
            kept[i % kept.length] = new int[20];
        }
        System.gc();
    }

    static int[] handed;
    static Account account;

    /** New objects, many of them where older ones were, each shared with one other thread under its own monitor. */
    static int exchange(Object lock) {
        synchronized (lock) {
            int sum = handed == null ? 0 : handed[0] + account.balance;
            handed = new int[] {sum % 7, 1};
            account = new Account();
            account.balance = sum % 5;
            return sum;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Object lock = new Object();
        if (arguments.length > 0) {
            Runnable work = () -> {
                for (int i = 0; i < 20_000; i++) {
                    exchange(lock);
                }
            };
            Thread[] workers = {new Thread(work), new Thread(work)};
            for (Thread worker : workers) {
                worker.start();
            }
            collect();
            for (Thread worker : workers) {
                worker.join();
            }
        } else {
            Account account = new Account();
            Steps.run(() -> account.deposit(50), () -> account.deposit(50));
            int[] sums = new int[3];
            Steps.run(() -> add(sums, lock), () -> add(sums, lock));
            System.out.println(account.balance + " " + sums[1]);
        }
        System.out.println("done");
    }
}
