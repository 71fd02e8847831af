// expect: clean
//
// The lock that is held from the read to the write is held by the other thread as well.
import atomvet.steps.Steps;

public class VolatileFixed {
    static class Gauge {
        private static volatile int raised;
        private volatile int level;

        synchronized void raise() {
            int seen = level;
            Steps.interludeIfPossible();
            level = seen + 1;
            raised = seen;
        }

        synchronized void reset() {
            level = 0;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Gauge gauge = new Gauge();
        Steps.run(() -> gauge.raise(), () -> gauge.reset());
        System.out.println("level " + gauge.level + ", expected 0");
    }
}
