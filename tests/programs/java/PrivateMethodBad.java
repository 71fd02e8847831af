// expect: violated PrivateMethodBad.deposit
//
// The operation that should be atomic is private. Each half of it takes the lock.
//
//   T1: [ get                 set ]
//   T2:        [ deposit ]
import atomvet.steps.Steps;
import java.util.concurrent.locks.ReentrantLock;

public class PrivateMethodBad {
    private final ReentrantLock lock = new ReentrantLock();
    private int balance;

    private int get() {
        lock.lock();
        try {
            return balance;
        } finally {
            lock.unlock();
        }
    }

    private void set(int value) {
        lock.lock();
        try {
            balance = value;
        } finally {
            lock.unlock();
        }
    }

    private void deposit() {
        int seen = get(); // begins
        Steps.interlude();
        set(seen + 1);
    }

    public static void main(String[] arguments) throws InterruptedException {
        PrivateMethodBad account = new PrivateMethodBad();
        Steps.run(() -> account.deposit(), () -> account.deposit());
        System.out.println("balance " + account.get() + ", expected 2");
    }
}
