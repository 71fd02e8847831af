// expect: clean
//
// As long as nobody looks at the set of keys, keys come and go independently of each other. A value that is replaced leaves the set of keys as it
// is; and what is taken out of a sorted set was put there before.
import atomvet.steps.Steps;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListSet;

public class MapAsAWholeFixed {
    static final Map<String, Integer> running = new ConcurrentHashMap<>();
    static final Map<String, Integer> known = new ConcurrentHashMap<>(Map.of("a", 1, "b", 1));
    static final ConcurrentSkipListSet<String> waiting = new ConcurrentSkipListSet<>();

    static void work(String name) {
        running.put(name, 1);
        Steps.interlude();
        running.remove(name);
    }

    static int twice() {
        int size = known.size();
        Steps.interlude();
        return size + known.size() + known.keySet().size();
    }

    static void replace() {
        known.put("a", 2);
        known.merge("b", 1, Integer::sum);
    }

    static void give() {
        waiting.add("one");
        Steps.interlude();
        waiting.add("two");
    }

    static void take() {
        waiting.pollFirst();
    }

    public static void main(String[] arguments) throws InterruptedException {
        Steps.run(() -> work("first"), () -> work("second"));
        Steps.run(() -> twice(), () -> replace());
        Steps.run(() -> give(), () -> take());
        System.out.println(running.size() + " " + known.get("a") + known.get("b") + " " + waiting.size());
    }
}
