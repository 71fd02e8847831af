import atomvet.steps.Turns;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Objects that one thread alone uses for long, or that all only read, and then another thread comes.
 *
 * <pre>
 *   Settles KIND alone   one thread adds for long, then in two steps, and the other one resets in between: addInTwo is to blame
 *   Settles KIND read    both look for long, then one of them twice, and the other one resets in between: lookTwice is to blame
 *   Settles KIND race    as alone, without locks, after the other one has looked once: addInTwo is to blame
 *   Settles KIND clean   as the first, in one step
 *   Settles KIND once    as the second, and the one looks once
 *   Settles KIND handed  one thread puts things into a holder for long, where then the other one finds one of them, and resets its volatile
 *                        field in the middle of increase, which is to blame
 *   Settles KIND inside  as handed, and the volatile field is in something else that is put there
 *   Settles KIND met     as inside, after the other thread has found the outermost in a map, and used that alone
 *   Settles KIND row     the same, in an array
 *   Settles KIND handle  as handed, and it is an element of an array that a handle accesses
 *   Settles KIND contended  as race, of an object that is new, after both have written to some others: addInTwo is to blame
 *   Settles KIND tried   one thread changes an atomic for long, then tries in vain and changes it, and the other one looks in between
 * </pre>
 */
public class Settles {
    private static final int LONG = 100_000;
    private static final Object LOCK = new Object();

    /** What is used. Methods with one access are no blocks. */
    interface Cell {
        int get();

        void set(int value);
    }

    static class Field implements Cell {
        private int value;

        public int get() {
            return value;
        }

        public void set(int value) {
            this.value = value;
        }
    }

    static class Static implements Cell {
        private static int value;

        public int get() {
            return value;
        }

        public void set(int to) {
            value = to;
        }
    }

    /** Its other field is accessed plainly, and is all that settles. */
    static class VolatileField implements Cell {
        private volatile int value;
        private int uses;

        public int get() {
            return value;
        }

        public void set(int value) {
            this.value = value;
            uses++;
        }
    }

    static class Atomic implements Cell {
        private final AtomicInteger value = new AtomicInteger();

        public int get() {
            return value.get();
        }

        public void set(int to) {
            value.set(to);
        }
    }

    static class Element implements Cell {
        private final int[] values = new int[4];

        public int get() {
            return values[2];
        }

        public void set(int value) {
            values[2] = value;
        }
    }

    /** An object in another, in which nobody else can see it for long. */
    static class Content implements Cell {
        private Field field = new Field();

        public int get() {
            return field.get();
        }

        public void set(int value) {
            Field other = new Field();
            other.set(value);
            field = other;
        }
    }

    private static Cell cell;

    static void add() {
        synchronized (LOCK) {
            cell.set(cell.get() + 1);
        }
    }

    static void addInTwo() {
        int seen;
        synchronized (LOCK) {
            seen = cell.get();
        }
        Turns.next(4);
        synchronized (LOCK) {
            cell.set(seen + 1);
        }
    }

    static int look() {
        synchronized (LOCK) {
            return cell.get();
        }
    }

    static int lookTwice() {
        int first = look();
        Turns.next(4);
        return first - look();
    }

    static void addInOne() {
        Turns.next(4);
        add();
    }

    static void lookOnce() {
        look();
        Turns.next(4);
    }

    static void reset() {
        synchronized (LOCK) {
            cell.set(0);
        }
    }

    private static final class Holder {
        private Cell held;
    }

    private static final Holder HOLDER = new Holder();

    static void hold(Cell other) {
        synchronized (LOCK) {
            HOLDER.held = other;
        }
    }

    static void handOver() {
        Cell handed = new VolatileField();
        hold(handed);
        increase(handed);
    }

    /** What is put there has no volatile field itself. */
    static void handOverInside() {
        Cell handed = new VolatileField();
        hold(new Inside(new Inside(handed)));
        increase(handed);
    }

    private static final class Inside implements Cell {
        private Cell inner;

        Inside(Cell inner) {
            this.inner = inner;
        }

        public int get() {
            return inner.get();
        }

        public void set(int value) {
            inner.set(value);
        }
    }

    private static final Map<String, Object> MAP = new HashMap<>();
    private static Cell[] row;

    static void putIntoMap(Object made) {
        synchronized (LOCK) {
            MAP.put("it", made);
        }
    }

    static boolean findInMap() {
        synchronized (LOCK) {
            Object found = MAP.get("it");
            return found instanceof Inside ? ((Inside) found).inner == null : ((Cell[]) found)[0] == null;
        }
    }

    /** Makes something that only a map knows of for now, and puts it where all can see it later. */
    static final class Maker {
        private final boolean isRow;
        private Object made;
        private Cell inner;

        Maker(boolean isRow) {
            this.isRow = isRow;
        }

        void make() {
            inner = new VolatileField();
            made = isRow ? new Cell[] {inner} : new Inside(inner);
            putIntoMap(made);
        }

        void handOver() {
            synchronized (LOCK) {
                if (isRow) {
                    row = (Cell[]) made;
                } else {
                    HOLDER.held = (Cell) made;
                }
            }
            increase(inner);
        }
    }

    static void resetInRow() {
        Cell found;
        synchronized (LOCK) {
            found = row[0];
        }
        found.set(0);
    }

    private static final VarHandle ELEMENTS = MethodHandles.arrayElementVarHandle(int[].class);
    private static int[] elements;

    static void handOverElements() {
        int[] made = new int[4];
        made[0] = 1;
        synchronized (LOCK) {
            elements = made;
        }
        increaseElement(made);
    }

    static void increaseElement(int[] made) {
        int seen = (int) ELEMENTS.getVolatile(made, 1);
        Turns.next(4);
        ELEMENTS.setVolatile(made, 1, seen + 1);
    }

    static void resetElement() {
        int[] found;
        synchronized (LOCK) {
            found = elements;
        }
        ELEMENTS.setVolatile(found, 1, 0);
    }

    static void increase(Cell handed) {
        int seen = handed.get();
        Turns.next(4);
        handed.set(seen + 1);
    }

    static void resetHeld() {
        Cell held;
        synchronized (LOCK) {
            held = HOLDER.held;
        }
        held.set(0);
    }

    private static final AtomicInteger TRIED = new AtomicInteger();

    static void change() {
        TRIED.compareAndSet(TRIED.get(), 1);
    }

    static void tryInVain() {
        TRIED.compareAndSet(-1, 2);
        Turns.next(4);
        TRIED.set(3);
    }

    static void lookAtTried() {
        TRIED.get();
    }

    private static final Cell[] CELLS = new Cell[20];

    static void makeCells() {
        for (int i = 0; i < CELLS.length; i++) {
            Cell made = new Field();
            CELLS[i] = made;
            made.set(i);
        }
    }

    static void setCells() {
        for (Cell made : CELLS) {
            made.set(0);
        }
    }

    static void addToNew() {
        cell = new Field();
        Race.addInTwo();
    }

    /** The same, of which nothing is locked. */
    static class Race {
        static void add() {
            cell.set(cell.get() + 1);
        }

        static void addInTwo() {
            int seen = cell.get();
            Turns.next(4);
            cell.set(seen + 1);
        }

        static void reset() {
            cell.set(0);
        }
    }

    private static void often(Runnable act) {
        for (int i = 0; i < LONG; i++) {
            act.run();
        }
    }

    /**
     * First one thread alone, or two, which take turns; then one acts, and the other one in the middle of that.
     *
     * <pre>
     *   turn    0      1        2     3       4
     *   one     use             act           … act
     *   other          otherUse       inside
     * </pre>
     */
    private static void both(Runnable use, Runnable otherUse, Runnable act, Runnable inside) throws InterruptedException {
        Thread one = new Thread(() -> {
            use.run();
            Turns.next(2);
            act.run();
            Turns.end();
        });
        Thread other = new Thread(() -> {
            Turns.await(1);
            otherUse.run();
            Turns.next(3);
            inside.run();
            Turns.end();
        });
        one.start();
        other.start();
        one.join();
        other.join();
    }

    public static void main(String[] arguments) throws InterruptedException {
        switch (arguments[0]) {
            case "field": cell = new Field(); break;
            case "static": cell = new Static(); break;
            case "volatile": cell = new VolatileField(); break;
            case "element": cell = new Element(); break;
            case "atomic": cell = new Atomic(); break;
            default: cell = new Content(); break;
        }
        Runnable nothing = () -> {};
        switch (arguments[1]) {
            case "alone":
                both(() -> often(Settles::add), nothing, Settles::addInTwo, Settles::reset);
                break;
            case "read":
                both(() -> often(Settles::look), () -> often(Settles::look), Settles::lookTwice, Settles::reset);
                break;
            case "race":
                both(() -> often(Race::add), Settles::look, Race::addInTwo, Race::reset);
                break;
            case "handed":
                both(() -> often(() -> hold(cell)), nothing, Settles::handOver, Settles::resetHeld);
                break;
            case "inside":
                both(() -> often(() -> hold(cell)), nothing, Settles::handOverInside, Settles::resetHeld);
                break;
            case "met":
            case "row":
                boolean isRow = arguments[1].equals("row");
                // Only the first thread knows it, so that what it makes is its own.
                ThreadLocal<Maker> maker = ThreadLocal.withInitial(() -> new Maker(isRow));
                both(() -> { often(Settles::look); maker.get().make(); }, () -> { often(Settles::look); findInMap(); },
                    () -> maker.get().handOver(), isRow ? Settles::resetInRow : Settles::resetHeld);
                break;
            case "handle":
                both(() -> often(Settles::add), nothing, Settles::handOverElements, Settles::resetElement);
                break;
            case "contended":
                both(() -> { often(Settles::add); makeCells(); }, Settles::setCells, Settles::addToNew, Race::reset);
                break;
            case "tried":
                both(() -> often(Settles::change), nothing, Settles::tryInVain, Settles::lookAtTried);
                break;
            case "clean":
                both(() -> often(Settles::add), nothing, Settles::addInOne, Settles::reset);
                break;
            default:
                both(() -> often(Settles::look), () -> often(Settles::look), Settles::lookOnce, Settles::reset);
                break;
        }
        System.out.println(cell.get());
    }
}
