// expect: violated CalledTasksBad$Deposit.run
// expect: violated CalledTasksBad.lambda$addLooking$0
//
// A task and a lambda that the program calls itself are operations as others are. The run of the worker, which the JDK
// calls, and the lambda around it are entries of threads, and no blocks, though nothing in them is atomic.
import atomvet.steps.Steps;
import java.util.function.IntUnaryOperator;

public class CalledTasksBad {
    private static int balance;
    private static int total;

    static int look() {
        synchronized (CalledTasksBad.class) {
            return balance;
        }
    }

    static class Deposit implements Runnable {
        @Override
        public void run() {
            int seen = look();
            Steps.interlude();
            synchronized (CalledTasksBad.class) {
                balance = seen + 1;
            }
        }
    }

    static class Worker implements Runnable {
        @Override
        public void run() {
            Runnable task = new Deposit();
            look();
            task.run();
            look();
        }
    }

    static int addLooking(int amount) {
        return use(value -> {
            int seen = addToTotal(0);
            Steps.interlude();
            return addToTotal(value + seen);
        }, amount);
    }

    static int use(IntUnaryOperator operator, int value) {
        return operator.applyAsInt(value);
    }

    static synchronized int addToTotal(int value) {
        total += value;
        return total;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Steps.run(new Worker(), new Worker());
        Runnable work = () -> {
            addToTotal(1);
            addLooking(1);
            addToTotal(1);
        };
        Steps.run(work, work);
        System.out.println("balance " + balance + ", total " + total);
    }
}
