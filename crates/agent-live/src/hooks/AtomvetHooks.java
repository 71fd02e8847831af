package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Stable;

/**
 * What rewritten code calls. The agent defines this class in java.base, where every class loader and module sees it.
 *
 * Every variable (a field of an object, a static field, an element, an atomic) has a synthetic address of 4 bytes: one granule of the
 * checker's shadow memory (crates/live). A hook looks at the granule's word: if this thread has done the same in its present epoch,
 * there is nothing to do. Otherwise the checker is called. AtomvetObjects knows the addresses.
 *
 * Blocks are told to the checker when it is called next, so that a method which only repeats accesses costs two stores. "low" says how many of
 * the open blocks the checker knows; unless it knows all of them, no access is taken for a repetition.
 *
 * Before a second thread comes, accesses need nothing: they happen before that thread's start.
 *
 * Nothing here may call what could be instrumented, but for what "busy" guards.
 */
public final class AtomvetHooks {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Of the agent: see constant() in natives.rs. */
    static final long SITES = constant(0);
    private static final int CUTOFF = (int) constant(1);
    /** Hooks are called and do nothing, to measure what calling them costs. */
    private static final boolean EMPTY = constant(2) != 0;
    /** Of the checker: what in a word says that an access repeats, and fields of a thread. */
    private static final long READ_MASK = constant(3);
    private static final long WRITE_MASK = constant(4);
    private static final long NOW = constant(5);
    private static final long READS = constant(6);
    private static final long WRITES = constant(7);

    static final long TID = U.objectFieldOffset(Thread.class, "tid");

    private AtomvetHooks() {}

    // Threads.

    /** What is known of a thread. Only that thread uses it. */
    static final class T {
        final Thread thread;
        /** The checker's thread, and where its read stamps and all write stamps are. */
        final long checked;
        final long reads;
        final long writes;
        T next;
        boolean busy;
        /** What to set to 0 when the access under way is over; 0 if none is. */
        long held;
        /** Sites of open blocks, how many are open, and how many of them the checker knows. */
        final long blocks;
        /** How often it entered which blocks of late; what words of blocks begin with. */
        final long counts;
        final long block;
        int depth;
        int low;
        /** How many class initialisers it is in. */
        int initialisers;
        /** Monitors of synchronized statements that are held, and which of them are blocks. */
        int monitors;
        Object[] monitor = new Object[16];
        boolean[] isBlock = new boolean[16];
        int calls;
        Object[] callObjects = new Object[16];
        int[] callSites = new int[16];
        /** Where a method is about to be called that may be watched; the innermost watched call. See AtomvetCalls. */
        int calling;
        AtomvetCalls.Call call;
        /** Where the next objects go that this thread is the first to use. */
        final AtomvetRooms rooms = new AtomvetRooms(this);
        /** Classes and objects that this thread has used lately, by identity hash code. */
        final AtomvetObjects.About[] abouts = new AtomvetObjects.About[AtomvetObjects.ABOUTS];
        final AtomvetUnnumbered.Entry[] lately = new AtomvetUnnumbered.Entry[AtomvetUnnumbered.LATELY];

        T(Thread thread, long checked) {
            this.thread = thread;
            this.checked = checked;
            this.reads = U.getLong(checked + READS);
            this.writes = U.getLong(checked + WRITES);
            this.blocks = blocksOf(checked);
            this.counts = countsOf(checked);
            this.block = FUNCTION | (keyOf(thread) == FIRST ? 0 : ELSEWHERE);
        }
    }

    /** How many blocks are kept; deeper ones belong to the deepest. */
    private static final int DEPTH = 0xffff;
    /** In the site of an open block: the initialiser of a class. */
    private static final int INITIALISER = 1 << 31;

    private static final T[] THREADS = new T[1 << 12];
    /** Whether there was ever a second thread. */
    private static boolean many;

    static T t() {
        if (EMPTY) {
            return null;
        }
        Thread thread = Thread.currentThread();
        T t = THREADS[(int) U.getLong(thread, TID) & THREADS.length - 1];
        return t != null && t.thread == thread ? t : findThread(thread);
    }

    /** Nothing if this thread cannot be followed. */
    @DontInline
    private static T findThread(Thread thread) {
        int index = (int) U.getLong(thread, TID) & THREADS.length - 1;
        T first = THREADS[index];
        for (T t = first; t != null; t = t.next) {
            if (t.thread == thread) {
                return t;
            }
        }
        if (isSilent()) {
            return null;
        }
        if (thread.getClass().getSuperclass() != Thread.class
                && thread.getClass().getName().equals("java.lang.VirtualThread")) {
            unwatched("virtual threads");
            return null;
        }
        long checked = attach(keyOf(thread), thread.getName());
        if (checked == 0) {
            return null;
        }
        T t = new T(thread, checked);
        synchronized (THREADS) {
            t.next = THREADS[index];
            THREADS[index] = t;
            many |= ++attached > 1;
        }
        return t;
    }

    private static int attached;

    /** A number for a thread that lasts as long as it does. */
    private static long keyOf(Thread thread) {
        return U.getLong(thread, TID);
    }

    /** Whether the thread of this number waits for a lock. */
    @DontInline
    static boolean isBlocked(long key) {
        for (T t = THREADS[(int) key & THREADS.length - 1]; t != null; t = t.next) {
            if (keyOf(t.thread) == key) {
                Thread.State state = t.thread.getState();
                return state == Thread.State.BLOCKED || state == Thread.State.WAITING;
            }
        }
        return false;
    }

    /** Called by the agent in a thread that ends. */
    private static void threadEnds() {
        Thread thread = Thread.currentThread();
        int index = (int) U.getLong(thread, TID) & THREADS.length - 1;
        synchronized (THREADS) {
            T before = null;
            for (T t = THREADS[index]; t != null; before = t, t = t.next) {
                if (t.thread == thread) {
                    finish(t);
                    t.rooms.end();
                    if (before == null) {
                        THREADS[index] = t.next;
                    } else {
                        before.next = t.next;
                    }
                    return;
                }
            }
        }
    }

    // Accesses. A site's place: 0 until it is known, negative if there is nothing to do there, else for a static field
    // its address, for others the displacement (24 bits) and where the object's base is (16 bits).

    static final long VOLATILE_FIELD = 1L << 49;
    static final long VOLATILE_STATIC = 1L << 62;
    static final long ADDRESS = (1L << 42) - 1;

    static long site(int site) {
        return U.getLong(SITES + ((long) site << 3));
    }

    /** The places of sites, in pages. What is not 0 any more is a constant to the second compiler. */
    @Stable
    private static final long[][] PLACES = new long[1 << 14][];
    private static final int PAGE_SHIFT = 12;

    private static long place(int site) {
        long[] page = PLACES[site >>> PAGE_SHIFT];
        return page == null ? 0 : page[site & (1 << PAGE_SHIFT) - 1];
    }

    static long setPlace(int site, long place) {
        synchronized (PLACES) {
            if (PLACES[site >>> PAGE_SHIFT] == null) {
                PLACES[site >>> PAGE_SHIFT] = new long[1 << PAGE_SHIFT];
            }
        }
        PLACES[site >>> PAGE_SHIFT][site & (1 << PAGE_SHIFT) - 1] = place;
        return place;
    }

    @DontInline
    private static void nothing(int site) {}

    /** Whether a read repeats one of this thread's epoch: see fast_mask_of_read() of crates/live/src/rule.rs. */
    private static boolean repeatsRead(T t, long address) {
        return ((U.getLong(t.reads + (address << 1)) ^ U.getLong(t.checked + NOW)) & READ_MASK) == 0 && t.low == t.depth;
    }

    /** The same for a write: see fast_mask_of_write(). */
    private static boolean repeatsWrite(T t, long address) {
        return ((U.getLong(t.writes + (address << 1)) ^ U.getLong(t.checked + NOW)) & WRITE_MASK) == 0 && t.low == t.depth;
    }

    public static void read(Object o, int site) {
        if (EMPTY) {
            nothing(site);
        } else if (many && o != null) {
            long place = place(site);
            if (place >= 0) {
                readField(o, place, site);
            }
        }
    }

    public static void write(Object o, int site) {
        if (EMPTY) {
            nothing(site);
        } else if (many && o != null) {
            long place = place(site);
            if (place >= 0) {
                writeField(o, place, site);
            }
        }
    }

    public static void write(Object o, Object value, int site) {
        write(o, site);
    }

    @DontInline
    private static void readField(Object o, long place, int site) {
        T t = t();
        if (t == null || t.busy) {
            return;
        }
        long base = base(t, o, place);
        if (base == 0) {
            place = find(t, o, site);
            if (place < 0) {
                return;
            }
            if (isIdle(t, o, where(place))) {
                return;
            }
            base = AtomvetObjects.base(t, o, where(place));
        }
        long address = base + (place & 0xffffff);
        if ((place & VOLATILE_FIELD) != 0) {
            access(t, address, site, READ | VOLATILE);
        } else if (!repeatsRead(t, address)) {
            access(t, address, site, READ);
        }
    }

    @DontInline
    private static void writeField(Object o, long place, int site) {
        T t = t();
        if (t == null || t.busy) {
            return;
        }
        long base = base(t, o, place);
        if (base == 0) {
            place = find(t, o, site);
            if (place < 0) {
                return;
            }
            if (isIdle(t, o, where(place))) {
                return;
            }
            base = AtomvetObjects.base(t, o, where(place));
        }
        long address = base + (place & 0xffffff);
        if ((place & VOLATILE_FIELD) != 0) {
            access(t, address, site, WRITE | VOLATILE);
        } else if (!repeatsWrite(t, address)) {
            access(t, address, site, WRITE);
        }
    }

    /**
     * Whether an access is one of a class initialiser to an object that nobody has used before: the initialiser has made it, and splits no
     * blocks by that.
     */
    private static boolean isIdle(T t, Object o, long where) {
        return t.initialisers > 0 && !AtomvetObjects.hasBase(t, o, where);
    }

    private static long where(long place) {
        return place >>> 24 & 0xffff;
    }

    /** The base of an object, or 0 if it has none yet, or it is not known where that is. */
    private static long base(T t, Object o, long place) {
        long where = where(place);
        return where == 0 ? 0 : U.getLong(o, where);
    }

    /** Finds out the place of a field. */
    @DontInline
    private static long find(T t, Object o, int site) {
        finish(t);
        long place = place(site);
        if (place == 0) {
            t.busy = true;
            try {
                place = AtomvetObjects.resolve(o, site);
            } finally {
                t.busy = false;
            }
        }
        return place;
    }

    public static void readStatic(int site) {
        if (EMPTY) {
            nothing(site);
        } else if (many && place(site) >= 0) {
            accessStatic(site, READ);
        }
    }

    public static void writeStatic(int site) {
        if (EMPTY) {
            nothing(site);
        } else if (many && place(site) >= 0) {
            accessStatic(site, WRITE);
        }
    }

    public static void writeStatic(Object value, int site) {
        writeStatic(site);
    }

    @DontInline
    private static void accessStatic(int site, int what) {
        T t = t();
        if (t == null || t.busy) {
            return;
        }
        long place = place(site);
        if (place == 0) {
            finish(t);
            place = AtomvetObjects.resolveStatic(t, site);
        }
        if (place < 0) {
            return;
        }
        long address = place & ADDRESS;
        if (place >= VOLATILE_STATIC) {
            access(t, address, site, what | VOLATILE);
        } else if (what == READ ? !repeatsRead(t, address) : !repeatsWrite(t, address)) {
            access(t, address, site, what);
        }
    }

    public static void readElement(int[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(long[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(float[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(double[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(Object[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(char[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    public static void readElement(short[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            readElement(array, index, (long) site);
        }
    }

    /** Bytes and booleans. */
    public static void readElement(Object array, int index, int site) {
        if (many && array != null && index >= 0 && index < smallLength(array)) {
            readElement(array, index, (long) site);
        }
    }

    public static void writeElement(int[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    public static void writeElement(long[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    public static void writeElement(float[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    public static void writeElement(double[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    public static void writeElement(char[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    public static void writeElement(short[] array, int index, int site) {
        if (many && array != null && index >= 0 && index < array.length) {
            writeElement(array, index, (long) site);
        }
    }

    /** Bytes and booleans. */
    public static void writeElement(Object array, int index, int site) {
        if (many && array != null && index >= 0 && index < smallLength(array)) {
            writeElement(array, index, (long) site);
        }
    }

    /** Nothing is written if the array does not take the value. */
    public static void writeElement(Object[] array, int index, Object value, int site) {
        if (many && array != null && index >= 0 && index < array.length
                && (value == null || array.getClass().getComponentType().isInstance(value))) {
            writeElement(array, index, (long) site);
        }
    }

    static int smallLength(Object array) {
        return array instanceof byte[] ? ((byte[]) array).length : ((boolean[]) array).length;
    }

    @DontInline
    private static void readElement(Object array, int index, long site) {
        T t = t();
        if (t != null && !t.busy && index < CUTOFF && !isIdle(t, array, 0)) {
            long address = AtomvetUnnumbered.base(t, array) + AtomvetObjects.element(index);
            if (!repeatsRead(t, address)) {
                access(t, address, (int) site, READ);
            }
        }
    }

    @DontInline
    private static void writeElement(Object array, int index, long site) {
        T t = t();
        if (t != null && !t.busy && index < CUTOFF && !isIdle(t, array, 0)) {
            long address = AtomvetUnnumbered.base(t, array) + AtomvetObjects.element(index);
            if (!repeatsWrite(t, address)) {
                access(t, address, (int) site, WRITE);
            }
        }
    }

    /** What an access is: see access() of natives.rs. */
    private static final int READ = 0;
    private static final int WRITE = 1;
    /** To a volatile field: nobody else accesses it until this access is over. */
    private static final int VOLATILE = 2;

    /** Tells the checker of an access, and of blocks that it does not know. */
    private static void access(T t, long address, int site, int what) {
        finish(t);
        int low = t.low;
        int depth = t.depth;
        t.low = depth;
        t.held = access(t.checked, address, site, what, t.blocks, Math.min(low, DEPTH), Math.min(depth, DEPTH));
    }

    /** Before a call that reads an atomic, and nothing else. */
    @DontInline
    public static void readByCall(Object o, int site) {
        T t = t();
        if (t != null && o != null && !t.busy) {
            read(t, AtomvetObjects.shared(t, o), 8, site);
        }
    }

    /** A read of a variable that needs no lock, by a call. */
    static void read(T t, long address, int bytes, int site) {
        access(t, address, site, READ | VOLATILE);
    }

    /** After an access, or several. */
    public static void accessed() {
        if (EMPTY) {
            nothing(0);
        } else if (many) {
            Thread thread = Thread.currentThread();
            T t = THREADS[(int) U.getLong(thread, TID) & THREADS.length - 1];
            if (t != null && (t.thread == thread ? t.held != 0 : t.next != null)) {
                finish(t());
            }
        }
    }

    /** The access under way is over, or threw. */
    static void finish(T t) {
        if (t != null && t.held != 0) {
            U.putLongRelease(null, t.held, 0L);
            t.held = 0;
        }
    }

    // For AtomvetCalls.

    static void holds(T t, long held) {
        t.held = held;
    }

    /** What is begun by a call is always told. */
    static boolean isUnderWayAlone(T t) {
        return false;
    }

    /** An object was copied, which has the base of the original now. */
    @DontInline
    public static void cloned(Object original, Object copy) {
        T t = copy == null || copy == original ? null : t();
        if (t != null && !t.busy) {
            AtomvetObjects.cloned(t, copy);
        }
    }

    // Blocks.

    @DontInline
    public static void enter(int site) {
        T t = t();
        if (t != null) {
            enter(t, site);
        }
    }

    // Each thread counts in pairs of a block and a number, which the command reads: see entered.rs of crates/live.
    private static final long HASH = constant(10);
    private static final int HASH_SHIFT = (int) constant(11);
    private static final long FUNCTION = constant(12);
    private static final long ELSEWHERE = constant(13);
    /** The number of the JVM's first thread. */
    private static final long FIRST = 1;

    private static void enter(T t, int site) {
        long block = t.block | site;
        long pair = t.counts + (block * HASH >>> HASH_SHIFT << 4);
        int depth = t.depth;
        if (depth == 0 || U.getLong(pair) != block) {
            count(t.checked, block, depth);
        } else {
            U.putLong(pair + 8, U.getLong(pair + 8) + 1);
        }
        push(t, site);
    }

    private static void push(T t, int site) {
        int depth = t.depth;
        if (depth < DEPTH) {
            U.putInt(t.blocks + ((long) depth << 2), site);
        }
        t.depth = depth + 1;
    }

    @DontInline
    public static void exit(int site) {
        T t = t();
        if (t == null) {
            return;
        }
        finish(t);
        int depth = t.depth - 1;
        if (depth < DEPTH && (depth < 0 || U.getInt(t.blocks + ((long) depth << 2)) != site)) {
            exitTo(t, find(t, depth, site));
        } else {
            t.depth = depth;
            t.low = Math.min(t.low, depth);
        }
    }

    /** Where a block is that others were left in without a word, or below 0 if it was entered unseen. */
    @DontInline
    private static int find(T t, int depth, int site) {
        while (depth >= 0 && U.getInt(t.blocks + ((long) depth << 2)) != site) {
            depth--;
        }
        return depth;
    }

    private static void exitTo(T t, int depth) {
        if (depth >= 0) {
            t.depth = depth;
            if (t.low > depth) {
                // Told at once: an initialiser may be among them, which splits blocks when it ends.
                t.low = depth;
                tell(t.checked, t.blocks, Math.min(depth, DEPTH), Math.min(depth, DEPTH));
            }
        }
    }

    /** Before the checker is called, which may not know of blocks that were entered or left. */
    static void tellBlocks(T t) {
        tell(t.checked, t.blocks, Math.min(t.low, DEPTH), Math.min(t.depth, DEPTH));
        t.low = t.depth;
    }

    // Monitors. A block begins with the monitor if the word of its site is STATEMENT, or the other one and the method is the
    // outermost one of the thread.

    private static final long STATEMENT = 2;
    private static final long STATEMENT_IF_OUTERMOST = 3;

    public static void acquired(Object o, int site) {
        T t = t();
        if (t == null || o == null) {
            return;
        }
        synchronises(t);
        long word = site(site);
        boolean isBlock = word == STATEMENT || word == STATEMENT_IF_OUTERMOST && t.depth == 1;
        int monitors = t.monitors;
        if (monitors == t.monitor.length) {
            t.monitor = java.util.Arrays.copyOf(t.monitor, 2 * monitors);
            t.isBlock = java.util.Arrays.copyOf(t.isBlock, 2 * monitors);
        }
        t.monitor[monitors] = o;
        t.isBlock[monitors] = isBlock;
        t.monitors = monitors + 1;
        if (isBlock) {
            enter(t, site);
        }
    }

    public static void releasing(Object o, int site) {
        T t = t();
        if (t == null || o == null) {
            return;
        }
        finish(t);
        int at = t.monitors - 1;
        while (at >= 0 && t.monitor[at] != o) {
            at--;
        }
        while (at >= 0 && t.monitors > at) {
            t.monitor[--t.monitors] = null;
            if (t.isBlock[t.monitors]) {
                exitTo(t, t.depth - 1);
            }
        }
    }

    public static void enterSynchronized(Object o, int site) {
        T t = t();
        if (t != null) {
            synchronises(t);
        }
    }

    public static void exitSynchronized(int site) {
        if (!EMPTY) {
            accessed();
        }
    }

    /** An initialiser that synchronises splits blocks, as one that accesses something does. */
    private static void synchronises(T t) {
        finish(t);
        if (t.initialisers > 0) {
            tellBlocks(t);
        }
    }

    /** Called by the agent before the thread waits. */
    private static void waits(Object o) {
        T t = t();
        if (t != null && !t.busy) {
            finish(t);
            tellBlocks(t);
            split(t.checked);
        }
    }

    // Calls that are watched; calls.rs says which.

    @DontInline
    public static void enterCall(Object o, int site) {
        T t = t();
        if (t == null) {
            return;
        }
        int calls = t.calls;
        if (calls == t.callObjects.length) {
            t.callObjects = java.util.Arrays.copyOf(t.callObjects, 2 * calls);
            t.callSites = java.util.Arrays.copyOf(t.callSites, 2 * calls);
        }
        t.callObjects[calls] = o;
        t.callSites[calls] = site;
        t.calls = calls + 1;
        if (o != null && !t.busy) {
            call(t, o, site, ENTERS);
        }
    }

    /** A method is about to be called that may be watched. */
    public static void calling(int site) {
        T t = t();
        if (t != null) {
            t.calling = site;
        }
    }

    public static void exitCall(int site) {
        leaveCall(site, RETURNS);
    }

    public static void exitCall(Object result, int site) {
        leaveCall(site, RETURNS);
    }

    public static void exitCall(boolean result, int site) {
        leaveCall(site, RETURNS);
    }

    public static void throwCall(int site) {
        leaveCall(site, THROWS);
    }

    private static final int ENTERS = 0;
    private static final int RETURNS = 1;
    private static final int THROWS = 2;

    @DontInline
    private static void leaveCall(int site, int way) {
        T t = t();
        if (t == null) {
            return;
        }
        int at = t.calls - 1;
        while (at >= 0 && t.callSites[at] != site) {
            at--;
        }
        if (at < 0) {
            return;
        }
        Object o = t.callObjects[at];
        while (t.calls > at) {
            t.callObjects[--t.calls] = null;
        }
        if (o != null && !t.busy) {
            call(t, o, site, way);
        }
    }

    private static final long FORK = 1;
    private static final long JOIN = 2;
    private static final long INITIALISE = 3;

    private static void call(T t, Object o, int site, int way) {
        finish(t);
        long kind = site(site);
        if (kind == FORK) {
            Thread thread = (Thread) o;
            if (way == ENTERS && thread.getState() == Thread.State.NEW) {
                tellBlocks(t);
                many = true;
                fork(t.checked, keyOf(thread));
            } else if (way == THROWS && thread.getState() == Thread.State.NEW) {
                isNotStarted(keyOf(thread));
            }
        } else if (kind == JOIN) {
            Thread thread = (Thread) o;
            if (way == RETURNS && thread.getState() == Thread.State.TERMINATED) {
                tellBlocks(t);
                join(t.checked, keyOf(thread), site);
            }
        } else if (kind == INITIALISE && way == ENTERS) {
            t.initialisers++;
            push(t, site | INITIALISER);
        } else if (kind == INITIALISE) {
            t.initialisers--;
            exitTo(t, find(t, Math.min(t.depth, DEPTH) - 1, site | INITIALISER));
        }
    }

    static long offset(Class<?> owner, String field) {
        try {
            return U.objectFieldOffset(owner, field);
        } catch (InternalError none) {
            return 0;
        }
    }

    /** The fields of a class as the program wrote them: without those that the agent adds (ADDED_FIELDS of hook_classes.rs). */
    public static java.lang.reflect.Field[] visible(java.lang.reflect.Field[] fields) {
        int added = 0;
        for (java.lang.reflect.Field field : fields) {
            added += field.getName().startsWith(AtomvetObjects.BASE_FIELD) ? 1 : 0;
        }
        if (added == 0) {
            return fields;
        }
        java.lang.reflect.Field[] others = new java.lang.reflect.Field[fields.length - added];
        int count = 0;
        for (java.lang.reflect.Field field : fields) {
            if (!field.getName().startsWith(AtomvetObjects.BASE_FIELD)) {
                others[count++] = field;
            }
        }
        return others;
    }

    /** Called by the agent when all classes are there. Native methods are looked up when they are first called: now. */
    private static void start() {
        t();
        access(0, 0, 0, 0, 0, 0, 0);
        tell(0, 0, 0, 0);
        split(0);
        fork(0, -1);
        isNotStarted(-1);
        join(0, -1, 0);
        newLife(0, 0);
        count(0, 0, 0);
        named(0, 0, "", false);
        unwatched(null);
        describeKey(Object.class, null);
        fieldOf(0);
        loaderOf(0);
        AtomvetObjects.About.ALL.get(Object[].class);
    }

    // The agent.

    static native long constant(int which);
    private static native long attach(long thread, String name);
    private static native boolean isSilent();
    private static native long blocksOf(long checked);
    private static native long countsOf(long checked);
    private static native void count(long checked, long block, int depth);
    static native void unwatched(String what);
    private static native long access(long checked, long address, int site, int what, long blocks, int from, int to);
    private static native void tell(long checked, long blocks, int from, int to);
    private static native void split(long checked);
    private static native void fork(long checked, long thread);
    private static native void isNotStarted(long thread);
    private static native void join(long checked, long thread, int site);
    static native void newLife(long base, long bytes);
    static native int describe(Class<?> type, int parent);
    static native void named(int type, int displacement, String field, boolean isStatic);
    static native int describeKey(Class<?> map, String key);
    static native String[] fields(Class<?> type);
    static native String[] fieldOf(int site);
    static native Object loaderOf(int site);
}
