// expect: violated VolatileBad$Gauge.raise
//
// A volatile field needs no lock, and one that happens to be held where it is read protects nothing. What the thread learns from
// others by another lock in between does not order the accesses to the field.
//
//   T1: [ lock a, read, unlock a          lock b, unlock b           write ]
//   T2:                          [ lock b, unlock b ]       [ write ]
import atomvet.steps.Turns;

public class VolatileBad {
    static class Gauge {
        private final Object a = new Object();
        private final Object b = new Object();
        private volatile int level;
        private int uses;

        void raise() {
            int seen;
            synchronized (a) { // begins
                seen = level;
            }
            Turns.next(2);
            use();
            Turns.next(4);
            level = seen + 1;
        }

        void use() {
            synchronized (b) {
                uses++;
            }
        }

        void reset() {
            level = 0;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Gauge gauge = new Gauge();
        Thread first = new Thread(() -> gauge.raise());
        Thread second = new Thread(() -> {
            Turns.await(1);
            gauge.use();
            Turns.next(3);
            gauge.reset();
            Turns.end();
        });
        first.start();
        second.start();
        first.join();
        second.join();
        System.out.println("level " + gauge.level + ", expected 0");
    }
}
