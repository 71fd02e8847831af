// expect: clean
//
// Tasks of an executor: what was written before submit is seen by the task, what the task wrote is seen after get.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

public class ExecutorFutures {
    static class Part {
        private final int[] numbers;
        private long sum;

        Part(int from, int to) {
            numbers = new int[to - from];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = from + i;
            }
        }

        void add() {
            for (int number : numbers) {
                sum += number;
            }
        }

        long sum() {
            return sum;
        }
    }

    static class Sums {
        private final ExecutorService workers = Executors.newFixedThreadPool(2);

        long byFutures() throws InterruptedException, ExecutionException {
            List<Part> parts = new ArrayList<>();
            List<Future<?>> results = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Part part = new Part(100 * i, 100 * i + 100);
                parts.add(part);
                results.add(workers.submit(part::add));
            }
            long sum = 0;
            for (int i = 0; i < 8; i++) {
                results.get(i).get();
                sum += parts.get(i).sum();
            }
            return sum;
        }

        long byCompletableFutures() {
            Part first = new Part(0, 400);
            Part second = new Part(400, 800);
            CompletableFuture<Long> one = CompletableFuture.supplyAsync(() -> {
                first.add();
                return first.sum();
            }, workers);
            CompletableFuture<Long> other = CompletableFuture.runAsync(second::add, workers).thenApply(nothing -> second.sum());
            return one.thenCombine(other, Long::sum).join();
        }

        boolean close() throws InterruptedException {
            workers.shutdown();
            return workers.awaitTermination(1, TimeUnit.MINUTES);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Sums sums = new Sums();
        long first = sums.byFutures();
        long second = sums.byCompletableFutures();
        System.out.println("sums " + first + " and " + second + ", closed " + sums.close());
    }
}
