// expect: clean
//
// Fields next to each other have nothing to do with each other, however they are accessed.
//
//   T1: [ read second and fourth                                         again ]
//   T2:                           [ set first and third by updaters ]
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

public class FieldUpdaterNeighbours {
    static class Counters {
        private static final AtomicIntegerFieldUpdater<Counters> FIRST =
                AtomicIntegerFieldUpdater.newUpdater(Counters.class, "first");
        private static final AtomicIntegerFieldUpdater<Counters> THIRD =
                AtomicIntegerFieldUpdater.newUpdater(Counters.class, "third");
        private volatile int first = 1;
        private volatile int second = 2;
        private volatile int third = 3;
        private volatile int fourth = 4;

        int evenTwice() {
            int before = second + fourth;
            Steps.interlude();
            return before + second + fourth;
        }

        int setOdd() {
            FIRST.set(this, 5);
            THIRD.set(this, 6);
            return first + third;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Counters counters = new Counters();
        Steps.run(counters::evenTwice, counters::setOdd);
        System.out.println("sum " + (counters.first + counters.second + counters.third + counters.fourth));
    }
}
