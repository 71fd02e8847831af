// Everything that several threads do stands in what they start with: nothing is a block, unless somebody says so.
import atomvet.steps.Steps;

public class OnlyEntries {
    static volatile int balance;

    static class Depositor implements Runnable {
        @Override
        public void run() {
            int seen = balance;
            Steps.interlude();
            balance = seen + 1;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Runnable depositor = new Depositor();
        Steps.run(depositor, () -> {
            balance++;
            balance++;
        });
        System.out.println(balance);
    }
}
