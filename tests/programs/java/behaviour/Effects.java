// Methods of the JDK's table (juc.rs), each where it changes the object and where it does not. Every call stands on a line of its
// own. A test compares what is printed, whether it was changed, with what was recorded for that line.
import atomvet.steps.Changes;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Hashtable;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Stack;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.atomic.*;

public class Effects {
    static volatile int marker;

    static <T> void step(T structure, Changes.Call<T> call) throws InterruptedException {
        Changes.step(() -> marker = 1, structure, call);
    }

    static void maps() throws InterruptedException {
        for (int kind = 0; kind < 6; kind++) {
            step(map(kind), m -> m.get("a"));
            step(map(kind), m -> m.get("z"));
            step(map(kind), m -> m.containsKey("a"));
            step(map(kind), m -> m.getOrDefault("z", 3));
            step(map(kind), m -> m.put("a", 2));
            step(map(kind), m -> m.put("z", 2));
            step(map(kind), m -> m.remove("a"));
            step(map(kind), m -> m.remove("z"));
            step(map(kind), m -> m.remove("a", 1));
            step(map(kind), m -> m.remove("a", 2));
            step(map(kind), m -> m.replace("a", 2));
            step(map(kind), m -> m.replace("z", 2));
            step(map(kind), m -> m.replace("a", 1, 2));
            step(map(kind), m -> m.replace("a", 2, 3));
            step(map(kind), m -> m.putIfAbsent("a", 2));
            step(map(kind), m -> m.putIfAbsent("z", 2));
            step(map(kind), m -> m.computeIfAbsent("a", key -> 2));
            step(map(kind), m -> m.computeIfAbsent("z", key -> 2));
            step(map(kind), m -> m.computeIfAbsent("z", key -> null));
            step(map(kind), m -> m.computeIfPresent("a", (key, value) -> 2));
            step(map(kind), m -> m.computeIfPresent("a", (key, value) -> null));
            step(map(kind), m -> m.computeIfPresent("z", (key, value) -> 2));
            step(map(kind), m -> m.compute("a", (key, value) -> 2));
            step(map(kind), m -> m.compute("a", (key, value) -> null));
            step(map(kind), m -> m.compute("z", (key, value) -> 2));
            step(map(kind), m -> m.compute("z", (key, value) -> null));
            step(map(kind), m -> m.merge("a", 2, (one, other) -> one + other));
            step(map(kind), m -> m.merge("a", 2, (one, other) -> null));
            step(map(kind), m -> m.merge("z", 2, (one, other) -> one + other));
            step(map(kind), m -> m.putAll(Map.of("z", 2)));
            if (kind != 1) {
                step(map(kind), m -> m.replaceAll((key, value) -> value + 1));
            }
            step(map(kind), m -> m.clear());
            step(map(kind), m -> m.size());
            step(map(kind), m -> m.isEmpty());
            step(map(kind), m -> m.containsValue(1));
            step(map(kind), m -> m.equals(Map.of("a", 1, "b", 1)));
            step(map(kind), m -> m.forEach((key, value) -> {}));
            if (kind != 1) {
                // That of a ConcurrentSkipListMap is inherited by all kinds of maps.
                step(map(kind), m -> m.hashCode());
                step(map(kind), m -> m.toString());
            }
            views(kind);
        }
        step(new ConcurrentHashMap<>(map(0)), m -> m.mappingCount());
        step(new ConcurrentHashMap<>(map(0)), m -> m.contains(1));
        step(new ConcurrentHashMap<>(map(0)), m -> m.keys());
        step(new ConcurrentHashMap<>(map(0)), m -> m.elements());
        step(new ConcurrentHashMap<>(map(0)), m -> m.search(1, (key, value) -> null));
        step(new ConcurrentHashMap<>(map(0)), m -> m.reduceValues(1, Integer::sum));
        step(new Hashtable<>(map(0)), m -> m.contains(1));
        step(new Hashtable<>(map(0)), m -> m.keys());
        step(new Hashtable<>(map(0)), m -> m.elements());
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.firstKey());
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.lastEntry());
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.ceilingKey("b"));
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.higherKey("z"));
        step(new ConcurrentSkipListSet<>(set(1)), s -> s.first());
        step(new ConcurrentSkipListSet<>(set(1)), s -> s.floor("b"));
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.pollFirstEntry());
        step(new ConcurrentSkipListMap<>(map(1)), m -> m.pollLastEntry());
        step(new ConcurrentSkipListSet<>(set(1)), s -> s.pollFirst());
    }

    static void views(int kind) throws InterruptedException {
        step(map(kind), m -> m.keySet().size());
        step(map(kind), m -> m.keySet().isEmpty());
        step(map(kind), m -> m.keySet().contains("a"));
        step(map(kind), m -> m.keySet().iterator());
        step(map(kind), m -> m.keySet().stream());
        step(map(kind), m -> m.keySet().toArray());
        step(map(kind), m -> m.keySet().remove("a"));
        step(map(kind), m -> m.keySet().remove("z"));
        step(map(kind), m -> m.keySet().clear());
        step(map(kind), m -> m.values().size());
        step(map(kind), m -> m.values().contains(1));
        step(map(kind), m -> m.values().iterator());
        step(map(kind), m -> m.values().toArray());
        step(map(kind), m -> m.entrySet().size());
        step(map(kind), m -> m.entrySet().contains(Map.entry("a", 1)));
        step(map(kind), m -> m.entrySet().iterator());
        step(map(kind), m -> m.entrySet().remove(Map.entry("a", 1)));
        step(map(kind), m -> m.entrySet().remove(Map.entry("a", 2)));
    }

    static Map<String, Integer> map(int kind) {
        Map<String, Integer> map = new TreeMap<>(Map.of("a", 1, "b", 1));
        return switch (kind) {
            case 0 -> new ConcurrentHashMap<>(map);
            case 1 -> new ConcurrentSkipListMap<>(map);
            case 2 -> new Hashtable<>(map);
            case 3 -> Collections.synchronizedMap(new HashMap<>(map));
            case 4 -> Collections.synchronizedMap(map);
            default -> Collections.synchronizedNavigableMap(new TreeMap<>(map));
        };
    }

    static void sets() throws InterruptedException {
        for (int kind = 0; kind < 5; kind++) {
            step(set(kind), s -> s.contains("a"));
            step(set(kind), s -> s.add("a"));
            step(set(kind), s -> s.add("z"));
            step(set(kind), s -> s.remove("a"));
            step(set(kind), s -> s.remove("z"));
            step(set(kind), s -> s.size());
            step(set(kind), s -> s.isEmpty());
            step(set(kind), s -> s.iterator());
            step(set(kind), s -> s.stream());
            step(set(kind), s -> s.addAll(List.of("z")));
            step(set(kind), s -> s.clear());
        }
    }

    static Set<String> set(int kind) {
        Set<String> set = new TreeSet<>(List.of("a", "b"));
        if (kind == 0) {
            Set<String> keys = ConcurrentHashMap.newKeySet();
            keys.addAll(set);
            return keys;
        }
        return switch (kind) {
            case 1 -> new ConcurrentSkipListSet<>(set);
            case 2 -> new CopyOnWriteArraySet<>(set);
            case 3 -> Collections.synchronizedSet(new HashSet<>(set));
            default -> Collections.synchronizedSortedSet(new TreeSet<>(set));
        };
    }

    /** What collections have in common; sets in one piece are among them. */
    static void collections() throws InterruptedException {
        for (int kind = 0; kind < 8; kind++) {
            step(collection(kind), c -> c.size());
            step(collection(kind), c -> c.isEmpty());
            step(collection(kind), c -> c.contains("a"));
            step(collection(kind), c -> c.containsAll(List.of("a")));
            step(collection(kind), c -> c.toArray());
            step(collection(kind), c -> c.toArray(new String[0]));
            step(collection(kind), c -> c.forEach(element -> {}));
            step(collection(kind), c -> c.add("z"));
            step(collection(kind), c -> c.addAll(List.of("z")));
            step(collection(kind), c -> c.addAll(List.of()));
            step(collection(kind), c -> c.remove("a"));
            step(collection(kind), c -> c.remove("z"));
            step(collection(kind), c -> c.removeAll(List.of("a")));
            step(collection(kind), c -> c.removeAll(List.of("z")));
            step(collection(kind), c -> c.retainAll(List.of("a")));
            step(collection(kind), c -> c.retainAll(List.of("a", "b")));
            step(collection(kind), c -> c.removeIf(element -> element.equals("a")));
            step(collection(kind), c -> c.removeIf(element -> element.equals("z")));
            step(collection(kind), c -> c.clear());
            if (kind > 0) {
                // That of a set goes through an iterator, as it does in AbstractCollection.
                step(collection(kind), c -> c.toString());
            }
        }
    }

    static Collection<String> collection(int kind) {
        return switch (kind) {
            case 0 -> set(2);
            case 1 -> set(3);
            case 2 -> Collections.synchronizedCollection(new ArrayList<>(List.of("a", "b")));
            default -> list(kind - 3);
        };
    }

    static void lists() throws InterruptedException {
        for (int kind = 0; kind < 5; kind++) {
            step(list(kind), l -> l.get(0));
            step(list(kind), l -> l.indexOf("a"));
            step(list(kind), l -> l.lastIndexOf("a"));
            step(list(kind), l -> l.equals(List.of("a")));
            step(list(kind), l -> l.hashCode());
            step(list(kind), l -> l.set(0, "z"));
            step(list(kind), l -> l.add(0, "z"));
            step(list(kind), l -> l.addAll(0, List.of("z")));
            step(list(kind), l -> l.addAll(0, List.of()));
            step(list(kind), l -> l.remove(0));
            step(list(kind), l -> l.sort(Collections.reverseOrder()));
            step(list(kind), l -> l.replaceAll(element -> element + "z"));
            step(list(kind), l -> l.iterator());
            step(list(kind), l -> l.listIterator());
            step(list(kind), l -> l.spliterator());
            step(list(kind), l -> l.stream());
        }
        List<String> withNull = Collections.synchronizedList(new ArrayList<>(Arrays.asList((String) null)));
        step(withNull, l -> l.remove(0));
        step(new Vector<>(Arrays.asList((String) null)), l -> l.remove(0));
        List<String> whole = list(0);
        step(whole, l -> l.subList(0, 1).add("z"));
        step(list(3), l -> l.subList(0, 1).add("z"));
        step(list(1), l -> l.subList(0, 1).clear());
        step(new CopyOnWriteArrayList<>(List.of("a")), l -> l.addIfAbsent("a"));
        step(new CopyOnWriteArrayList<>(List.of("a")), l -> l.addIfAbsent("z"));
        step(new CopyOnWriteArrayList<>(List.of("a")), l -> l.addAllAbsent(List.of("a")));
        step(new CopyOnWriteArrayList<>(List.of("a")), l -> l.addAllAbsent(List.of("a", "z")));
    }

    static List<String> list(int kind) {
        List<String> list = List.of("a", "b");
        Stack<String> stack = new Stack<>();
        stack.addAll(list);
        return switch (kind) {
            case 0 -> new Vector<>(list);
            case 1 -> new CopyOnWriteArrayList<>(list);
            case 2 -> stack;
            case 3 -> Collections.synchronizedList(new ArrayList<>(list));
            default -> Collections.synchronizedList(new java.util.LinkedList<>(list));
        };
    }

    static Stack<String> vector() {
        return (Stack<String>) list(2);
    }

    static void vectors() throws InterruptedException {
        step(vector(), v -> v.elementAt(0));
        step(vector(), v -> v.firstElement());
        step(vector(), v -> v.lastElement());
        step(vector(), v -> v.peek());
        step(vector(), v -> v.empty());
        step(vector(), v -> v.search("a"));
        step(vector(), v -> v.capacity());
        step(vector(), v -> v.copyInto(new Object[2]));
        step(vector(), v -> v.indexOf("a", 0));
        step(vector(), v -> v.lastIndexOf("a", 0));
        step(vector(), v -> v.addElement("z"));
        step(vector(), v -> v.removeElement("a"));
        step(vector(), v -> v.removeElement("z"));
        step(vector(), v -> v.removeElementAt(0));
        step(vector(), v -> v.removeAllElements());
        step(vector(), v -> v.insertElementAt("z", 0));
        step(vector(), v -> v.setElementAt("z", 0));
        step(vector(), v -> v.setSize(1));
        step(vector(), v -> v.push("z"));
        step(vector(), v -> v.pop());
        step(vector(), v -> v.elements());
        step(vector(), v -> v.clone());
    }

    static AtomicInteger number() {
        return new AtomicInteger(1);
    }

    static void numbers() throws InterruptedException {
        step(number(), n -> n.get());
        step(number(), n -> n.getPlain());
        step(number(), n -> n.getOpaque());
        step(number(), n -> n.getAcquire());
        step(number(), n -> n.intValue());
        step(number(), n -> n.longValue());
        step(number(), n -> n.floatValue());
        step(number(), n -> n.doubleValue());
        step(number(), n -> n.byteValue());
        step(number(), n -> n.shortValue());
        step(number(), n -> n.toString());
        step(number(), n -> n.set(2));
        step(number(), n -> n.lazySet(2));
        step(number(), n -> n.setPlain(2));
        step(number(), n -> n.setOpaque(2));
        step(number(), n -> n.setRelease(2));
        step(number(), n -> n.getAndSet(2));
        step(number(), n -> n.compareAndSet(1, 2));
        step(number(), n -> n.compareAndSet(3, 2));
        step(number(), n -> n.weakCompareAndSetPlain(3, 2));
        step(number(), n -> n.weakCompareAndSetVolatile(3, 2));
        step(number(), n -> n.weakCompareAndSetAcquire(3, 2));
        step(number(), n -> n.weakCompareAndSetRelease(3, 2));
        step(number(), n -> n.compareAndExchange(1, 2));
        step(number(), n -> n.compareAndExchange(3, 2));
        step(number(), n -> n.compareAndExchangeAcquire(1, 2));
        step(number(), n -> n.compareAndExchangeAcquire(3, 2));
        step(number(), n -> n.compareAndExchangeRelease(1, 2));
        step(number(), n -> n.compareAndExchangeRelease(3, 2));
        step(number(), n -> n.getAndAdd(1));
        step(number(), n -> n.addAndGet(1));
        step(number(), n -> n.getAndIncrement());
        step(number(), n -> n.incrementAndGet());
        step(number(), n -> n.getAndDecrement());
        step(number(), n -> n.decrementAndGet());
        step(number(), n -> n.getAndUpdate(value -> value + 1));
        step(number(), n -> n.updateAndGet(value -> value + 1));
        step(number(), n -> n.getAndAccumulate(1, Integer::sum));
        step(number(), n -> n.accumulateAndGet(1, Integer::sum));
        step(new AtomicLong(1), n -> n.compareAndExchange(1, 2));
        step(new AtomicLong(1), n -> n.compareAndExchange(3, 2));
        step(new AtomicLong(1), n -> n.getAndUpdate(value -> value + 1));
        step(new AtomicBoolean(), n -> n.compareAndExchange(false, true));
        step(new AtomicBoolean(), n -> n.compareAndExchange(true, false));
        step(new AtomicBoolean(), n -> n.getAndSet(true));
        step(new AtomicBoolean(), n -> n.compareAndSet(true, false));
        step(new AtomicReference<>("a"), n -> n.compareAndExchange("a", "b"));
        step(new AtomicReference<>("a"), n -> n.compareAndExchange("z", "b"));
        step(new AtomicReference<>("a"), n -> n.compareAndExchange(null, "b"));
        step(new AtomicReference<>("a"), n -> n.updateAndGet(value -> value + "b"));
    }

    static AtomicIntegerArray array() {
        return new AtomicIntegerArray(new int[] {1, 1});
    }

    static void arrays() throws InterruptedException {
        step(array(), a -> a.get(1));
        step(array(), a -> a.getPlain(1));
        step(array(), a -> a.set(1, 2));
        step(array(), a -> a.lazySet(1, 2));
        step(array(), a -> a.getAndSet(1, 2));
        step(array(), a -> a.compareAndSet(1, 1, 2));
        step(array(), a -> a.compareAndSet(1, 3, 2));
        step(array(), a -> a.compareAndExchange(1, 1, 2));
        step(array(), a -> a.compareAndExchange(1, 3, 2));
        step(array(), a -> a.getAndAdd(1, 1));
        step(array(), a -> a.getAndUpdate(1, value -> value + 1));
        step(array(), a -> a.accumulateAndGet(1, 1, Integer::sum));
        step(new AtomicLongArray(2), a -> a.compareAndExchange(1, 0, 2));
        step(new AtomicLongArray(2), a -> a.compareAndExchange(1, 3, 2));
        step(new AtomicReferenceArray<String>(2), a -> a.compareAndExchange(1, null, "b"));
        step(new AtomicReferenceArray<String>(2), a -> a.compareAndExchange(1, "a", "b"));
    }

    static LongAdder adder() {
        LongAdder adder = new LongAdder();
        adder.add(5);
        return adder;
    }

    static LongAccumulator accumulator() {
        LongAccumulator accumulator = new LongAccumulator(Long::sum, 0);
        accumulator.accumulate(5);
        return accumulator;
    }

    static void adders() throws InterruptedException {
        step(adder(), a -> a.add(1));
        step(adder(), a -> a.increment());
        step(adder(), a -> a.decrement());
        step(adder(), a -> a.sum());
        step(adder(), a -> a.intValue());
        step(adder(), a -> a.longValue());
        step(adder(), a -> a.floatValue());
        step(adder(), a -> a.doubleValue());
        step(adder(), a -> a.toString());
        step(adder(), a -> a.sumThenReset());
        step(adder(), a -> a.reset());
        step(new DoubleAdder(), a -> a.add(1));
        step(new DoubleAdder(), a -> a.sum());
        step(accumulator(), a -> a.accumulate(1));
        step(accumulator(), a -> a.get());
        step(accumulator(), a -> a.longValue());
        step(accumulator(), a -> a.getThenReset());
        step(accumulator(), a -> a.reset());
        step(new DoubleAccumulator(Double::sum, 0), a -> a.accumulate(1));
        step(new DoubleAccumulator(Double::sum, 0), a -> a.get());
        step(new AtomicStampedReference<>("a", 1), r -> r.getReference());
        step(new AtomicStampedReference<>("a", 1), r -> r.getStamp());
        step(new AtomicStampedReference<>("a", 1), r -> r.get(new int[1]));
        step(new AtomicStampedReference<>("a", 1), r -> r.set("b", 2));
        step(new AtomicStampedReference<>("a", 1), r -> r.attemptStamp("a", 2));
        step(new AtomicStampedReference<>("a", 1), r -> r.attemptStamp("z", 2));
        step(new AtomicStampedReference<>("a", 1), r -> r.compareAndSet("a", "b", 1, 2));
        step(new AtomicStampedReference<>("a", 1), r -> r.compareAndSet("a", "b", 3, 2));
        step(new AtomicStampedReference<>("a", 1), r -> r.weakCompareAndSet("a", "b", 3, 2));
        step(new AtomicMarkableReference<>("a", false), r -> r.isMarked());
        step(new AtomicMarkableReference<>("a", false), r -> r.set("a", true));
        step(new AtomicMarkableReference<>("a", false), r -> r.attemptMark("a", true));
        step(new AtomicMarkableReference<>("a", false), r -> r.attemptMark("z", true));
        step(new AtomicMarkableReference<>("a", false), r -> r.compareAndSet("a", "b", false, true));
        step(new AtomicMarkableReference<>("a", false), r -> r.compareAndSet("a", "b", true, true));
    }

    static class Cell {
        volatile int number = 1;
        volatile long wide = 1;
        volatile String text = "a";
        volatile boolean flag;
        volatile double real = 1;
        volatile float small = 1;
        static final AtomicIntegerFieldUpdater<Cell> UPDATER = AtomicIntegerFieldUpdater.newUpdater(Cell.class, "number");
        static final VarHandle NUMBER = handle("number", int.class);
        static final VarHandle WIDE = handle("wide", long.class);
        static final VarHandle TEXT = handle("text", String.class);
        static final VarHandle FLAG = handle("flag", boolean.class);
        static final VarHandle REAL = handle("real", double.class);
        static final VarHandle SMALL = handle("small", float.class);

        static VarHandle handle(String name, Class<?> type) {
            try {
                return MethodHandles.lookup().findVarHandle(Cell.class, name, type);
            } catch (ReflectiveOperationException none) {
                throw new IllegalStateException(none);
            }
        }

        @Override
        public String toString() {
            return number + " " + wide + " " + text + " " + flag + " " + real + " " + small;
        }
    }

    static Cell published;

    static Cell cell() {
        published = new Cell();
        return published;
    }

    static void fields() throws InterruptedException {
        step(cell(), c -> Cell.UPDATER.get(c));
        step(cell(), c -> Cell.UPDATER.set(c, 2));
        step(cell(), c -> Cell.UPDATER.lazySet(c, 2));
        step(cell(), c -> Cell.UPDATER.getAndSet(c, 2));
        step(cell(), c -> Cell.UPDATER.compareAndSet(c, 1, 2));
        step(cell(), c -> Cell.UPDATER.compareAndSet(c, 3, 2));
        step(cell(), c -> Cell.UPDATER.weakCompareAndSet(c, 3, 2));
        step(cell(), c -> Cell.UPDATER.getAndAdd(c, 1));
        step(cell(), c -> Cell.UPDATER.incrementAndGet(c));
        step(cell(), c -> Cell.UPDATER.getAndUpdate(c, value -> value + 1));
        step(cell(), c -> Cell.UPDATER.accumulateAndGet(c, 1, Integer::sum));
        step(cell(), c -> { int seen = (int) Cell.NUMBER.get(c); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.getVolatile(c); });
        step(cell(), c -> Cell.NUMBER.set(c, 2));
        step(cell(), c -> Cell.NUMBER.setRelease(c, 2));
        step(cell(), c -> { int seen = (int) Cell.NUMBER.getAndSet(c, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.getAndAdd(c, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.getAndBitwiseOr(c, 2); });
        step(cell(), c -> { boolean done = Cell.NUMBER.compareAndSet(c, 1, 2); });
        step(cell(), c -> { boolean done = Cell.NUMBER.compareAndSet(c, 3, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.compareAndExchange(c, 1, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.compareAndExchange(c, 3, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.compareAndExchangeAcquire(c, 1, 2); });
        step(cell(), c -> { int seen = (int) Cell.NUMBER.compareAndExchangeRelease(c, 3, 2); });
        step(cell(), c -> { long seen = (long) Cell.WIDE.compareAndExchange(c, 1L, 2L); });
        step(cell(), c -> { long seen = (long) Cell.WIDE.compareAndExchange(c, 3L, 2L); });
        step(cell(), c -> { String seen = (String) Cell.TEXT.compareAndExchange(c, "a", "b"); });
        step(cell(), c -> { String seen = (String) Cell.TEXT.compareAndExchange(c, "z", "b"); });
        step(cell(), c -> { boolean seen = (boolean) Cell.FLAG.compareAndExchange(c, false, true); });
        step(cell(), c -> { boolean seen = (boolean) Cell.FLAG.compareAndExchange(c, true, false); });
        step(cell(), c -> { double seen = (double) Cell.REAL.compareAndExchange(c, 1.0, 2.0); });
        step(cell(), c -> { double seen = (double) Cell.REAL.compareAndExchange(c, 3.0, 2.0); });
        step(cell(), c -> { float seen = (float) Cell.SMALL.compareAndExchange(c, 1f, 2f); });
        step(cell(), c -> { float seen = (float) Cell.SMALL.compareAndExchange(c, 3f, 2f); });
    }

    static StringBuffer text() throws InterruptedException {
        StringBuffer text = new StringBuffer("abc");
        // Whoever uses it second shares it.
        text.append("d");
        return text;
    }

    static void texts() throws InterruptedException {
        step(text(), t -> t.length());
        step(text(), t -> t.isEmpty());
        step(text(), t -> t.charAt(0));
        step(text(), t -> t.codePointAt(0));
        step(text(), t -> t.codePointBefore(1));
        step(text(), t -> t.codePointCount(0, 1));
        step(text(), t -> t.offsetByCodePoints(0, 1));
        step(text(), t -> t.substring(1));
        step(text(), t -> t.subSequence(0, 1));
        step(text(), t -> t.indexOf("b"));
        step(text(), t -> t.lastIndexOf("b"));
        step(text(), t -> t.compareTo(new StringBuffer()));
        step(text(), t -> t.getChars(0, 1, new char[1], 0));
        step(text(), t -> t.capacity());
        step(text(), t -> t.toString());
        step(text(), t -> t.append("z"));
        step(text(), t -> t.append(1));
        step(text(), t -> t.insert(0, "z"));
        step(text(), t -> t.insert(0, 1));
        step(text(), t -> t.delete(0, 1));
        step(text(), t -> t.deleteCharAt(0));
        step(text(), t -> t.replace(0, 1, "z"));
        step(text(), t -> t.reverse());
        step(text(), t -> t.setLength(1));
        step(text(), t -> t.setCharAt(0, 'z'));
        step(text(), t -> t.appendCodePoint('z'));
    }

    public static void main(String[] arguments) throws InterruptedException {
        maps();
        sets();
        collections();
        lists();
        vectors();
        numbers();
        arrays();
        adders();
        fields();
        texts();
    }
}
