// expect: clean
//
// One critical section over the whole deposit.
import atomvet.steps.Steps;

public class BankFixed {
    static class Account {
        private int balance = 100;

        synchronized void deposit(int amount) {
            int seen = balance;
            Steps.interludeIfPossible();
            balance = seen + amount;
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
