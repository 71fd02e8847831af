// expect: violated FieldUpdaterBad$Ticket.take
//
// An atomic updater of a field that is also read plainly: test and decrement in two steps.
//
//   T1: [ r(left)                 add(left) ]
//   T2:           [ take ]
import atomvet.steps.Steps;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

public class FieldUpdaterBad {
    static class Ticket {
        private static final AtomicIntegerFieldUpdater<Ticket> LEFT =
                AtomicIntegerFieldUpdater.newUpdater(Ticket.class, "left");
        private volatile int left = 1;

        boolean take() {
            if (left == 0) { // begins
                return false;
            }
            Steps.interlude();
            LEFT.decrementAndGet(this); // returns
            return true;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Ticket ticket = new Ticket();
        Steps.run(ticket::take, ticket::take);
        System.out.println("left " + ticket.left + ", expected 0");
    }
}
