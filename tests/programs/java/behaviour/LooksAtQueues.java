// Looks at a queue without taking anything out: whether that is atomic is not told, but that it was done.
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

public class LooksAtQueues {
    static final LinkedBlockingQueue<String> queue = new LinkedBlockingQueue<>();
    static final AtomicInteger shared = new AtomicInteger();

    static void add() {
        if (queue.size() < 10) {
            queue.add("a");
        }
        shared.incrementAndGet();
    }

    public static void main(String[] arguments) throws InterruptedException {
        Thread thread = new Thread(() -> add());
        thread.start();
        add();
        thread.join();
        System.out.println(queue.stream().count());
    }
}
