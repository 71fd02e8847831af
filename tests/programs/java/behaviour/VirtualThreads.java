// A violation by two threads, and virtual threads, where there are any: beside them, or as one of the two.
import atomvet.steps.Steps;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

public class VirtualThreads {
    private int balance = 100;
    private static int counted;

    void deposit(int amount) {
        int seen;
        synchronized (this) {
            seen = balance;
        }
        Steps.interlude();
        synchronized (this) {
            balance = seen + amount;
        }
    }

    static synchronized void count() {
        counted++;
    }

    static Thread start(Runnable task) {
        try {
            Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
            return (Thread) start.invoke(null, task);
        } catch (ReflectiveOperationException none) {
            Thread thread = new Thread(task);
            thread.start();
            return thread;
        }
    }

    /** A virtual thread interferes with a method of a platform thread. */
    static void interfere(VirtualThreads account) throws InterruptedException {
        Steps.run(() -> account.deposit(50), () -> {
            Thread other = start(() -> account.deposit(50));
            while (other.isAlive()) {
                Thread.yield();
            }
        });
    }

    public static void main(String[] arguments) throws InterruptedException {
        if (arguments[0].equals("interfering")) {
            VirtualThreads account = new VirtualThreads();
            interfere(account);
            System.out.println("balance " + account.balance);
            return;
        }
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            threads.add(start(() -> {
                count();
                Thread.yield();
                count();
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        VirtualThreads account = new VirtualThreads();
        Steps.run(() -> account.deposit(50), () -> account.deposit(50));
        System.out.println("counted " + counted + ", balance " + account.balance);
    }
}
