// expect: clean
//
// Tasks that make tasks: fork and join, parallel streams, scheduled tasks, completion services, invokeAll.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;

public class TaskTrees {
    static class Cell {
        private int value;
        private int twice;

        void set(int number) {
            value = number;
            twice = 2 * number;
        }

        int get() {
            return value + value == twice ? value : -1000000;
        }
    }

    static class Sum extends RecursiveTask<Integer> {
        private final Cell[] cells;
        private final int from;
        private final int to;

        Sum(Cell[] cells, int from, int to) {
            this.cells = cells;
            this.from = from;
            this.to = to;
        }

        @Override
        protected Integer compute() {
            if (to - from < 4) {
                int sum = 0;
                for (int i = from; i < to; i++) {
                    cells[i].set(i);
                    sum += cells[i].get();
                }
                return sum;
            }
            Sum left = new Sum(cells, from, (from + to) / 2);
            Sum right = new Sum(cells, (from + to) / 2, to);
            left.fork();
            int sum = right.compute() + left.join();
            for (int i = from; i < to; i++) {
                cells[i].set(cells[i].get());
            }
            return sum;
        }
    }

    static class Work {
        private final Cell[] cells = new Cell[64];

        Work() {
            for (int i = 0; i < cells.length; i++) {
                cells[i] = new Cell();
            }
        }

        int byForkJoin() {
            return new ForkJoinPool(2).invoke(new Sum(cells, 0, cells.length));
        }

        int byStream() {
            IntStream.range(0, cells.length).parallel().forEach(i -> cells[i].set(i + 1));
            int sum = 0;
            for (Cell cell : cells) {
                sum += cell.get();
            }
            return sum;
        }

        int bySchedule() throws Exception {
            ScheduledExecutorService later = Executors.newScheduledThreadPool(1);
            Cell cell = cells[0];
            cell.set(5);
            Future<Integer> got = later.schedule(() -> {
                int seen = cell.get();
                cell.set(seen + 1);
                return seen;
            }, 1, TimeUnit.MILLISECONDS);
            int sum = got.get() + cell.get();
            later.shutdown();
            return sum;
        }

        int byInvokeAll() throws Exception {
            ExecutorService pool = Executors.newCachedThreadPool();
            List<Callable<Integer>> tasks = new ArrayList<>();
            for (Cell cell : cells) {
                tasks.add(() -> {
                    cell.set(3);
                    return cell.get();
                });
            }
            int sum = 0;
            for (Future<Integer> result : pool.invokeAll(tasks)) {
                sum += result.get();
            }
            for (Cell cell : cells) {
                cell.set(cell.get());
            }
            pool.shutdown();
            return sum;
        }

        int byCompletion() throws Exception {
            ExecutorService pool = Executors.newFixedThreadPool(2);
            ExecutorCompletionService<Cell> service = new ExecutorCompletionService<>(pool);
            for (Cell cell : cells) {
                service.submit(() -> {
                    cell.set(4);
                    return cell;
                });
            }
            int sum = 0;
            for (int i = 0; i < cells.length; i++) {
                Cell cell = service.take().get();
                cell.set(cell.get() + 1);
                sum += cell.get();
            }
            pool.shutdown();
            return sum;
        }

        int byCompletableFutures() {
            CompletableFuture<Cell> first = CompletableFuture.supplyAsync(() -> {
                cells[0].set(10);
                return cells[0];
            });
            CompletableFuture<Cell> second = CompletableFuture.supplyAsync(() -> {
                cells[1].set(20);
                return cells[1];
            });
            return first.thenCombineAsync(second, (one, two) -> {
                one.set(one.get() + two.get());
                return one;
            }).thenApply(Cell::get).join();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Work work = new Work();
        System.out.println(work.byForkJoin() + " " + work.byStream() + " " + work.bySchedule() + " " + work.byInvokeAll() + " "
                + work.byCompletion() + " " + work.byCompletableFutures());
    }
}
