// expect: clean
//
// A method that hands out work and waits for it, by any of these ways, is judged in pieces. As a whole, its tasks would come
// both after it has handed them out and before it uses what they did.
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.TimeUnit;

public class WaitsForTasks {
    private final int[] parts = new int[4];

    synchronized void add(int part, int amount) {
        parts[part] += amount;
    }

    synchronized int sum() {
        return parts[0] + parts[1] + parts[2] + parts[3];
    }

    int byTermination() throws InterruptedException {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        add(0, 1);
        for (int i = 0; i < parts.length; i++) {
            int part = i;
            pool.execute(() -> add(part, 10));
        }
        pool.shutdown();
        if (!pool.awaitTermination(1, TimeUnit.HOURS)) {
            throw new IllegalStateException();
        }
        return sum();
    }

    int byInvocation(ForkJoinPool pool) {
        add(0, 1);
        pool.invoke(new RecursiveAction() {
            @Override
            protected void compute() {
                add(0, 100);
            }
        });
        return sum();
    }

    public static void main(String[] arguments) throws InterruptedException {
        WaitsForTasks tasks = new WaitsForTasks();
        System.out.println(tasks.byTermination());
        ForkJoinPool pool = new ForkJoinPool(2);
        System.out.println(tasks.byInvocation(pool));
    }
}
