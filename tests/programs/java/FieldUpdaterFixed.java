// expect: clean
//
// Test and decrement in one step: a loop of compare and set would be the same.
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

public class FieldUpdaterFixed {
    static class Ticket {
        private static final AtomicIntegerFieldUpdater<Ticket> LEFT =
                AtomicIntegerFieldUpdater.newUpdater(Ticket.class, "left");
        private volatile int left = 1;

        boolean take() {
            Steps.interlude();
            return LEFT.getAndUpdate(this, seen -> Math.max(seen - 1, 0)) > 0;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Ticket ticket = new Ticket();
        Steps.run(ticket::take, ticket::take);
        System.out.println("left " + ticket.left + ", expected 0");
    }
}
