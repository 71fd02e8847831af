// Ends in the way that its argument says, after a violation: Ends.deposit is not atomic.
import atomvet.steps.Steps;
import java.lang.reflect.Field;

public class Ends {
    private int balance = 100;

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

    /** Works until the JVM is no more. */
    static void worksOn() {
        Ends own = new Ends();
        while (true) {
            own.balance++;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Ends account = new Ends();
        Steps.run(() -> account.deposit(50), () -> account.deposit(50));
        System.out.println("balance " + account.balance);
        switch (arguments[0]) {
            case "exit":
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("shutdown hook")));
                System.exit(4);
                break;
            case "halt":
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("never printed")));
                Runtime.getRuntime().halt(5);
                break;
            case "exit-in-block":
                synchronized (account) {
                    System.exit(6);
                }
                break;
            case "daemon":
                Thread daemon = new Thread(Ends::worksOn);
                daemon.setDaemon(true);
                daemon.start();
                break;
            case "exception":
                throw new IllegalStateException("as it should be");
            case "overflow":
                try {
                    deep(0);
                } catch (StackOverflowError error) {
                    System.out.println("overflow");
                }
                synchronized (account) {
                    account.balance++;
                }
                break;
            case "crash":
                Class<?> type = Class.forName("sun.misc.Unsafe");
                Field field = type.getDeclaredField("theUnsafe");
                field.setAccessible(true);
                type.getMethod("putInt", long.class, int.class).invoke(field.get(null), 0L, 1);
                break;
            case "kill":
                new ProcessBuilder("kill", "-" + arguments[1], Long.toString(ProcessHandle.current().pid()))
                    .start().waitFor();
                while (true) {
                    Thread.onSpinWait();
                }
            default:
                break;
        }
    }

    static synchronized int deep(int level) {
        return deep(level + 1) + 1;
    }
}
