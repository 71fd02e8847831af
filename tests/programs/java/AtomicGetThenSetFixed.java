// expect: clean
//
// One atomic read-modify-write.
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicInteger;

public class AtomicGetThenSetFixed {
    static class Counter {
        final AtomicInteger count = new AtomicInteger();

        void increment() {
            Steps.interlude();
            count.incrementAndGet();
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Counter counter = new Counter();
        Steps.run(() -> counter.increment(), () -> counter.increment());
        System.out.println("count " + counter.count.get() + ", expected 2");
    }
}
