// expect: clean
// options: --blocks papers
//
// The same as PrivateMethodBad, but by the papers' rule private methods are no blocks, unless they are synchronized, nor
// are lambdas. The one public method is atomic.
import atomvet.steps.Steps;

public class PrivateMethodByThePapers {
    private int balance;

    private int get() {
        synchronized (this) {
            return balance;
        }
    }

    private synchronized void set(int value) {
        balance = value;
    }

    private void deposit() {
        int seen = get();
        Steps.interlude();
        set(seen + 1);
    }

    public synchronized void print() {
        System.out.println("balance " + balance + ", expected 2");
    }

    public static void main(String[] arguments) throws InterruptedException {
        PrivateMethodByThePapers account = new PrivateMethodByThePapers();
        Steps.run(() -> account.deposit(), () -> account.deposit());
        account.print();
    }
}
