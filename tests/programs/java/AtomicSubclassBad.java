// expect: violated AtomicSubclassBad$Gauge.raise
//
// A class that is an atomic, and asks itself in two steps.
//
//   T1: [ get          set ]
//   T2:        [ set ]
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicInteger;

public class AtomicSubclassBad {
    static class Gauge extends AtomicInteger {
        void raise() {
            int seen = super.get(); // begins
            Steps.interlude();
            super.set(seen + 1);
        }

        void reset() {
            super.set(0);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Gauge gauge = new Gauge();
        Steps.run(gauge::raise, gauge::reset);
        System.out.println("level " + gauge + ", expected 0");
    }
}
