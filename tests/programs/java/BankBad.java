// expect: violated BankBad$Account.deposit
//
// Two critical sections in one operation: every access is locked, the deposit of the other thread is lost.
//
//   T1: [ r(balance)                  w(balance) ]
//   T2:               [ deposit 50 ]
import atomvet.steps.Steps;

public class BankBad {
    static class Account {
        private int balance = 100;

        void deposit(int amount) {
            int seen;
            synchronized (this) { // begins
                seen = balance;
            }
            Steps.interlude();
            synchronized (this) { // returns
                balance = seen + amount; // returns
            }
        }

        synchronized int balance() {
            return balance;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Account account = new Account();
        Steps.run(() -> account.deposit(50), () -> account.deposit(50));
        System.out.println("balance " + account.balance() + ", expected 200");
    }
}
