// expect: violated IdleInitialiser.deposit
//
// A class is initialised in the middle of a block that is not atomic. The initialiser does nothing that others could see
// happen, so that what was done before still belongs to the same execution.
import atomvet.steps.Steps;

public class IdleInitialiser {
    static class Constants {
        static final int[] AMOUNTS = {50, 100};
        static int used = 50;
    }

    private int balance = 100;

    void deposit() {
        int seen;
        synchronized (this) { // begins
            seen = balance;
        }
        seen += Constants.used;
        Steps.interlude();
        synchronized (this) { // returns
            balance = seen; // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        IdleInitialiser account = new IdleInitialiser();
        Steps.run(account::deposit, account::deposit);
        System.out.println("balance " + account.balance);
    }
}
