import java.util.concurrent.ForkJoinPool;

/** Asks for the result of a task, many times: each call is ordered after the task that it has submitted itself. */
public class ForkJoinResults {
    private static final ForkJoinPool POOL = new ForkJoinPool(1);
    private static int done;

    static void ask() throws Exception {
        POOL.submit(() -> { done++; return null; }).get();
    }

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 2000; i++) {
            ask();
        }
        System.out.println(done);
    }
}
