// expect: violated PublishedCopyBad$Gauge.raise
//
// A copy is published by the method that makes it, which another one calls that makes copies as well.
//
//   T1: [ read          write ]
//   T2:        [ write ]
import atomvet.steps.Steps;

public class PublishedCopyBad {
    private static Gauge latest;

    static class Gauge implements Cloneable {
        private volatile int level;

        @Override
        public Object clone() throws CloneNotSupportedException {
            Gauge copy = (Gauge) super.clone();
            latest = copy;
            return copy;
        }

        void raise() {
            int seen = level; // begins
            Steps.interlude();
            level = seen + 1;
        }

        void reset() {
            level = 0;
        }
    }

    static class FineGauge extends Gauge {
        @Override
        public Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    public static void main(String[] arguments) throws Exception {
        new FineGauge().clone();
        Steps.run(() -> latest.raise(), () -> latest.reset());
        System.out.println("level " + latest.level + ", expected 0");
    }
}
