/** Two threads: counts vary with the schedule, what the hooks check does not. */
public class HandOver {
    public static void main(String[] arguments) throws Exception {
        Monitors monitors = new Monitors();
        monitors.handOver();
        int[] total = new int[1];
        Thread[] threads = new Thread[3];
        for (int index = 0; index < threads.length; index++) {
            threads[index] = new Thread(() -> {
                for (int round = 0; round < 200; round++) {
                    synchronized (total) {
                        total[0] = monitors.increment(1);
                    }
                }
            });
            threads[index].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(total[0]);
    }
}
