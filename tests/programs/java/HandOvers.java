// expect: clean
//
// What latches, semaphores, exchangers and blocking queues hand over is handed over.
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Exchanger;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;

public class HandOvers {
    static class Parcel {
        private int content;
        private int checked;

        void fill(int number) {
            content = number;
            checked = -number;
        }

        int open() {
            return content + checked == 0 ? content : -1;
        }
    }

    static class Office {
        private final CountDownLatch opening = new CountDownLatch(1);
        private final Semaphore desk = new Semaphore(1);
        private final Exchanger<Parcel> counter = new Exchanger<>();
        private Parcel announced;
        private int visitors;

        void open(Parcel parcel) {
            announced = parcel;
            opening.countDown();
        }

        int visit() throws InterruptedException {
            opening.await();
            desk.acquire();
            visitors++;
            desk.release();
            return announced.open();
        }

        int swap(Parcel mine) throws InterruptedException {
            return counter.exchange(mine).open();
        }
    }

    static class Belt {
        private final BlockingQueue<Parcel> parcels;

        Belt(BlockingQueue<Parcel> parcels) {
            this.parcels = parcels;
        }

        void send(int number) throws InterruptedException {
            Parcel parcel = new Parcel();
            parcel.fill(number);
            parcels.put(parcel);
        }

        int receive() throws InterruptedException {
            return parcels.take().open();
        }
    }

    interface Work {
        int work() throws InterruptedException;
    }

    static int both(Work first, Work second) throws InterruptedException {
        int[] results = new int[2];
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int self = i;
            Work work = i == 0 ? first : second;
            threads[i] = new Thread(() -> {
                try {
                    results[self] = work.work();
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
            threads[i].start();
        }
        threads[0].join();
        threads[1].join();
        return results[0] + results[1];
    }

    static int through(BlockingQueue<Parcel> queue) throws InterruptedException {
        Belt belt = new Belt(queue);
        return both(
                () -> {
                    for (int i = 1; i <= 50; i++) {
                        belt.send(i);
                    }
                    return 0;
                },
                () -> {
                    int sum = 0;
                    for (int i = 1; i <= 50; i++) {
                        sum += belt.receive();
                    }
                    return sum;
                });
    }

    public static void main(String[] arguments) throws InterruptedException {
        Office office = new Office();
        Parcel parcel = new Parcel();
        int latched = both(
                () -> {
                    parcel.fill(7);
                    office.open(parcel);
                    return office.visit();
                },
                office::visit);
        int swapped = both(
                () -> {
                    Parcel mine = new Parcel();
                    mine.fill(3);
                    return office.swap(mine);
                },
                () -> {
                    Parcel mine = new Parcel();
                    mine.fill(4);
                    return office.swap(mine);
                });
        int linked = through(new LinkedBlockingQueue<>());
        int array = through(new ArrayBlockingQueue<>(2));
        int direct = through(new SynchronousQueue<>());
        System.out.println(latched + " " + swapped + " " + linked + " " + array + " " + direct);
    }
}
