// expect: clean
//
// Phases of a computation: everybody writes its own, then reads its neighbour's. A barrier between.
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Phaser;

public class BarrierPhases {
    static final int THREADS = 3;
    static final int ROUNDS = 20;

    interface Meeting {
        void await();
    }

    static class Ring {
        private final long[] values = new long[THREADS];
        private final Meeting meeting;

        Ring(Meeting meeting) {
            this.meeting = meeting;
        }

        long compute(int self) {
            long sum = 0;
            for (int round = 0; round < ROUNDS; round++) {
                values[self] = self + round;
                meeting.await();
                sum += values[(self + 1) % THREADS];
                meeting.await();
            }
            return sum;
        }
    }

    static long run(Meeting meeting) throws InterruptedException {
        Ring ring = new Ring(meeting);
        long[] sums = new long[THREADS];
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int self = i;
            threads[i] = new Thread(() -> sums[self] = ring.compute(self));
            threads[i].start();
        }
        long all = 0;
        for (int i = 0; i < THREADS; i++) {
            threads[i].join();
            all += sums[i];
        }
        return all;
    }

    public static void main(String[] arguments) throws InterruptedException {
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        long first = run(() -> {
            try {
                barrier.await();
            } catch (InterruptedException | BrokenBarrierException exception) {
                throw new IllegalStateException(exception);
            }
        });
        Phaser phaser = new Phaser(THREADS);
        long second = run(phaser::arriveAndAwaitAdvance);
        System.out.println("sums " + first + " and " + second + ", expected 630 and 630");
    }
}
