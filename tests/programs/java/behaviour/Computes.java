// One thread changes a value by a function and then says so by a volatile field. The other one looks at the value, and at the field only if the
// value is new. It then lets the first one go on. So a look is atomic, unless it is said to come before the change that it has seen.
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicInteger;

public class Computes {
    static final int ROUNDS = 5000;
    static volatile int said;
    static volatile int seen;

    interface Value {
        void change(int round);

        boolean isNew(int round);
    }

    static class OfMap implements Value {
        final ConcurrentMap<String, Integer> map;
        final int way;

        OfMap(ConcurrentMap<String, Integer> map, int way) {
            this.map = map;
            this.way = way;
        }

        public void change(int round) {
            switch (way) {
                case 0 -> map.compute("a", (key, old) -> round);
                case 1 -> map.merge("a", round, (old, now) -> now);
                case 2 -> map.computeIfAbsent("a" + round, key -> round);
                default -> map.merge("a" + round, round, (old, now) -> now);
            }
        }

        public boolean isNew(int round) {
            Integer value = map.get(way < 2 ? "a" : "a" + round);
            return value != null && value == round;
        }
    }

    static class OfSet implements Value {
        final ConcurrentSkipListSet<Integer> set = new ConcurrentSkipListSet<>();

        OfSet() {
            for (int i = 1; i <= ROUNDS; i++) {
                set.add(i);
            }
        }

        public void change(int round) {
            set.pollFirst();
        }

        public boolean isNew(int round) {
            return !set.contains(round);
        }
    }

    static class OfNumber implements Value {
        final AtomicInteger number = new AtomicInteger();

        public void change(int round) {
            number.updateAndGet(old -> round);
        }

        public boolean isNew(int round) {
            return number.get() == round;
        }
    }

    static boolean look(Value value, int round) {
        return value.isNew(round) && said >= 0;
    }

    static void rounds(Value value) throws InterruptedException {
        said = 0;
        seen = 0;
        Thread other = new Thread(() -> {
            for (int round = 1; round <= ROUNDS; round++) {
                while (!look(value, round)) {
                    Thread.yield();
                }
                seen = round;
            }
        });
        other.start();
        for (int round = 1; round <= ROUNDS; round++) {
            value.change(round);
            said = round;
            while (seen != round) {
                Thread.yield();
            }
        }
        other.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        for (int way = 0; way < 4; way++) {
            rounds(new OfMap(new ConcurrentHashMap<>(), way));
            rounds(new OfMap(new ConcurrentSkipListMap<>(), way));
        }
        rounds(new OfSet());
        rounds(new OfNumber());
    }
}
