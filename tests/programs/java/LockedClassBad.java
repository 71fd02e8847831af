// expect: violated LockedClassBad$Account.deposit
//
// A class serves as a lock before anything else is done with it, when the JVM has loaded it and not looked at its fields yet. They are
// variables all the same.
import atomvet.steps.Steps;

public class LockedClassBad {
    static class Account {
        private int balance = 100;

        void deposit() {
            int seen = balance; // begins
            Steps.interlude();
            balance = seen + 50; // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        synchronized (Account.class) {
            System.out.println("locked");
        }
        Account account = new Account();
        Steps.run(account::deposit, account::deposit);
        System.out.println("balance " + account.balance + ", expected 200");
    }
}
