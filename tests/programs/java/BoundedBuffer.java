// expect: clean
//
// Producers and consumers that wait for each other: waiting gives the lock back on purpose.
public class BoundedBuffer {
    static class Buffer {
        private final int[] items = new int[2];
        private int first;
        private int count;

        synchronized void put(int item) throws InterruptedException {
            while (count == items.length) {
                wait();
            }
            items[(first + count) % items.length] = item;
            count++;
            notifyAll();
        }

        synchronized int take() throws InterruptedException {
            while (count == 0) {
                wait();
            }
            int item = items[first];
            first = (first + 1) % items.length;
            count--;
            notifyAll();
            return item;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Buffer buffer = new Buffer();
        int[] sums = new int[2];
        Thread[] threads = new Thread[4];
        for (int i = 0; i < 2; i++) {
            int self = i;
            threads[i] = new Thread(() -> {
                try {
                    for (int item = 1; item <= 200; item++) {
                        buffer.put(item);
                    }
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
            threads[2 + i] = new Thread(() -> {
                try {
                    for (int taken = 0; taken < 200; taken++) {
                        sums[self] += buffer.take();
                    }
                } catch (InterruptedException exception) {
                    throw new IllegalStateException(exception);
                }
            });
        }
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("sum " + (sums[0] + sums[1]) + ", expected 40200");
    }
}
