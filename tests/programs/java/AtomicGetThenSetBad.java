// expect: violated AtomicGetThenSetBad$Counter.increment
//
// An atomic read and an atomic write are no atomic increment.
//
//   T1: [ get            set ]
//   T2:       [ get set ]
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicInteger;

public class AtomicGetThenSetBad {
    static class Counter {
        final AtomicInteger count = new AtomicInteger();

        void increment() {
            int seen = count.get(); // begins
            Steps.interlude();
            count.set(seen + 1); // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Counter counter = new Counter();
        Steps.run(() -> counter.increment(), () -> counter.increment());
        System.out.println("count " + counter.count.get() + ", expected 2");
    }
}
