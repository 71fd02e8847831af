package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.Stable;

/**
 * What rewritten code calls. The agent defines this class in java.base, where every class loader and module sees it.
 *
 * Nearly all calls end here, without leaving Java: accesses to objects that are still their creator's, accesses that a
 * record covers, and late ones where nobody else has been (crates/recorder/src/shadow.rs says what that means; isCovered,
 * isLate, enterAll and leaveTo do what is done there). The rest goes on in the agent.
 *
 * AtomvetObjects knows whose an object is, and where its fields are.
 *
 * Nothing here may call what could be instrumented, but for what "busy" guards.
 */
public final class AtomvetHooks {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Of the agent and the recorder: see constant() in natives.rs. */
    static final long SITES = constant(0);
    /** A bit per site of a block that is inside of another one, and of one that is outermost in its thread. */
    private static final long HEARD_OF = constant(5);
    private static final long HEARD_OF_OUTERMOST = HEARD_OF + constant(7);
    private static final int CUTOFF = (int) constant(3);
    /** Hooks are called and do nothing, to measure what calling them costs. */
    private static final boolean EMPTY = constant(4) != 0;

    /** The filter: where the index is in a key, and where the word for an address is. */
    private static final int INDEX_SHIFT = (int) constant(10);
    private static final long GRANULE = constant(11);
    private static final int READ_SHIFT = (int) constant(12);
    private static final int WRITE_SHIFT = (int) constant(13);

    /** Fields of the recorder's Thread, and of a Frame. */
    private static final long KEY = constant(20);
    private static final long READS = constant(21);
    private static final long WRITES = constant(22);
    private static final long OPEN = constant(23);
    private static final long ANNOUNCED = constant(24);
    private static final long RECEIVED = constant(25);
    private static final long BARE = constant(26);
    private static final long FRAMES = constant(27);
    private static final long FRAME = constant(30);
    private static final long FRAME_KEY = constant(31);
    private static final long FRAME_BARE = constant(32);
    private static final long FRAME_BLOCK = constant(33);
    private static final long FRAME_ENTERED = constant(36);
    private static final long FUNCTION = constant(37);
    private static final long NEWEST = constant(28);
    private static final long BIRTH = constant(29);
    private static final long LOCKS = constant(40);
    private static final long BARES = constant(41);
    private static final long A_BARE = constant(42);
    private static final long BARE_ADDRESS = constant(43);
    private static final long BARE_PLACE = constant(44);
    private static final long BARE_KEY = constant(45);
    private static final long BARE_SIZE = constant(46);
    private static final long BARE_WRITES = constant(47);
    private static final long RECENT = constant(48);
    private static final long RECENT_MASK = constant(49);
    private static final int MOST_BARE = (int) constant(50);
    static final long SEEN = constant(51);
    private static final long BY_OTHER = constant(52);

    private static final int STRIPE_SHIFT = (int) constant(68);
    private static final long STEP = constant(62);
    private static final int QUIET_SHIFT = (int) constant(63);
    private static final long LATE_READ = constant(64);
    private static final long LATE_WRITE = constant(65);
    private static final long KEPT_OF_EARLIER = constant(66);
    private static final long KEPT_OF_THIS = constant(67);
    private static final long CELLS = constant(69);
    private static final long CELLS_MASK = constant(70);
    private static final long SUMMARIES = constant(71);
    private static final long QUIET = constant(72);
    private static final int CELL_SHIFT = 6;
    private static final long CELL_PLACE = 8;
    private static final long CELL_DEPTH = 12;
    private static final long CELL_KNOWN = 16;
    private static final long CELL_BLOCKS = 24;
    private static final long CELL_RECORDER = 32;

    static final long TID = U.objectFieldOffset(Thread.class, "tid");

    /** Where an object's number tells whose it is: see AtomvetSettled. */
    private static final int OWNER_SHIFT = AtomvetSettled.OWNER_SHIFT;
    private static final long OWNER = -1L << OWNER_SHIFT;

    /** How an element of an array is laid out: 8 bytes each, but for small ones. */
    static final int HEADER = 16;

    private AtomvetHooks() {}

    // Threads.

    /** What is known of a thread. Only that thread uses it. */
    static final class T {
        final Thread thread;
        final long tag;
        /** The recorder's Thread, and the memory for sites of open blocks. */
        final long recorder;
        final long blocks;
        T next;

        /** How many blocks are open. */
        int depth() {
            return U.getInt(cell + CELL_DEPTH);
        }

        /** How many of them the recorder knows. */
        int known() {
            return U.getInt(cell + CELL_KNOWN);
        }

        void setKnown(int known) {
            U.putInt(cell + CELL_KNOWN, known);
        }

        /** What it is accessing: see under_way.rs. */
        final long cell;
        boolean busy;
        /** Monitors that are held, and calls that are watched; the base, or 0 where it is not recorded. */
        int held;
        Object[] monitors = new Object[16];
        long[] monitorBases = new long[16];
        boolean[] monitorBlocks = new boolean[16];
        /** What was locked last when so many monitors were held. */
        AtomvetUnnumbered.Shared[] lastLocks = new AtomvetUnnumbered.Shared[16];
        int calls;
        Object[] callObjects = new Object[16];
        int[] callSites = new int[16];
        /** Bits of summaries for reads and for writes, and where it is told how many threads share this one's words: see natives.rs. */
        final int firstRead;
        final int firstWrite;
        final long members;
        /** For AtomvetObjects.share(), which needs some memory and does not call itself. */
        final Object[] open = new Object[64];
        /** Where objects go that this thread shares; those with atomics by themselves, so that words about atomics are in few pages. */
        final AtomvetObjects.Room room = new AtomvetObjects.Room(true);
        final AtomvetObjects.Room roomForAtomics = new AtomvetObjects.Room(false);
        /** Classes whose objects this thread has used lately; see AtomvetObjects. */
        static final int ABOUTS = 256;
        final AtomvetObjects.About[] abouts = new AtomvetObjects.About[ABOUTS];
        /** Shared objects without a number that this thread has used lately, by identity hash code. */
        final AtomvetUnnumbered.Shared[] lately = new AtomvetUnnumbered.Shared[AtomvetUnnumbered.LATELY];
        /** Their hash codes, all in a few lines of the cache, which the objects are not. */
        final int[] latelyHashes = new int[AtomvetUnnumbered.LATELY];
        /** How many times the table was swept that these are from, and how often one was looked for that is not among them. */
        int sweeps;
        int misses;
        /** Bases of objects that may settle, how often they were looked at, and who had written to them; see AtomvetSettled. */
        final long[] candidates = new long[AtomvetSettled.CANDIDATES];
        final byte[] looks = new byte[AtomvetSettled.CANDIDATES];
        final long[] written = new long[AtomvetSettled.CANDIDATES];
        /** Where a method is about to be called that may be watched; the innermost watched call. See AtomvetCalls. */
        int calling;
        AtomvetCalls.Call call;

        T(Thread thread, long tag, long recorder) {
            this.thread = thread;
            this.tag = tag;
            this.recorder = recorder;
            this.blocks = blocksOf(recorder);
            this.cell = cell(thread);
            this.firstRead = (int) firstOf(recorder, 0);
            this.firstWrite = (int) firstOf(recorder, 1);
            this.members = firstOf(recorder, 2);
            U.putInt(cell + CELL_DEPTH, 0);
            U.putInt(cell + CELL_KNOWN, 0);
            U.putLong(cell + CELL_RECORDER, recorder);
            U.putLong(cell + CELL_BLOCKS, blocks);
        }
    }

    /** How many blocks are kept; deeper ones belong to the deepest. */
    private static final int DEPTH = 0xffff;

    static final T[] THREADS = new T[1 << 12];

    /** The number of a thread's own objects. If the thread's has no room in it, there is more in it, and no other number is like it. */
    private static long tag(Thread thread) {
        long number = U.getLong(thread, TID);
        return number << OWNER_SHIFT | number >>> 64 - OWNER_SHIFT << 2 | AtomvetSettled.OWN;
    }

    static T t() {
        if (EMPTY) {
            return null;
        }
        Thread thread = Thread.currentThread();
        T t = THREADS[(int) U.getLong(thread, TID) & THREADS.length - 1];
        return t != null && t.thread == thread ? t : findThread(thread);
    }

    /** Nothing if what this thread does cannot be recorded. */
    @DontInline
    private static T findThread(Thread thread) {
        int index = (int) U.getLong(thread, TID) & THREADS.length - 1;
        for (T t = THREADS[index]; t != null; t = t.next) {
            if (t.thread == thread) {
                return t;
            }
        }
        if (isSilent()) {
            return null;
        }
        if (thread.getClass().getSuperclass() != Thread.class
                && thread.getClass().getName().equals("java.lang.VirtualThread")) {
            countVirtual();
            return null;
        }
        long recorder = attach(keyOf(thread), thread.getName());
        if (recorder == 0) {
            return null;
        }
        T t = new T(thread, tag(thread), recorder);
        synchronized (THREADS) {
            t.next = THREADS[index];
            THREADS[index] = t;
        }
        return t;
    }

    /** A number for a thread that lasts as long as it does. */
    private static long keyOf(Thread thread) {
        return U.getLong(thread, TID);
    }

    /** Whether who has a variable that cannot be had soon waits for a lock of this thread's: that is assumed. */
    static boolean isBlocked(long key) {
        return true;
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
                    U.putLong(t.cell + CELL_BLOCKS, 0);
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

    // Accesses. A site's word: 0 until it is known, negative if there is nothing to do there, else for a static field
    // its address and its number (AtomvetStatics), for others the displacement (24 bits), where the object's number is (16 bits), and the bytes (8 bits). Bits
    // above that say that the field is volatile, or else that it settles with its object.

    private static final int SETTLES_SHIFT = 48;
    static final long SETTLING_FIELD = 1L << SETTLES_SHIFT;
    static final long VOLATILE_FIELD = 1L << 49;
    static final long VOLATILE_STATIC = 1L << 62;

    static long site(int site) {
        return U.getLong(SITES + ((long) site << 3));
    }

    /** The words of sites of fields, in pages. What is not 0 any more is a constant to the second compiler. */
    @Stable
    private static final long[][] PLACES = new long[1 << 14][];
    private static final int PAGE_SHIFT = 12;

    private static long place(int site) {
        long[] page = PLACES[site >>> PAGE_SHIFT];
        return page == null ? 0 : page[site & (1 << PAGE_SHIFT) - 1];
    }

    static void setPlace(int site, long place) {
        synchronized (PLACES) {
            if (PLACES[site >>> PAGE_SHIFT] == null) {
                PLACES[site >>> PAGE_SHIFT] = new long[1 << PAGE_SHIFT];
            }
        }
        PLACES[site >>> PAGE_SHIFT][site & (1 << PAGE_SHIFT) - 1] = place;
    }

    // What is called at every access finds out whether this thread alone uses the object, and leaves the rest to others. Where a site is not
    // known yet, "where" is 0, and the first word of an object is compared, which never ends like a tag: only of fields that settle, in objects
    // that have a number, the second bit may be anything.
    //
    // Compilers decide for themselves whether to repeat this at an access, and these methods are written so that they do so in code that is
    // hot, and not before: the first compiler takes only methods of up to 35 bytes (whence no helpers), and would count what
    // happens in them, at every access and in a place that all threads share. That cost H2 a third of its time with empty
    // hooks and a tenth of it with these.

    @DontInline
    private static void nothing(int site) {}

    public static void read(Object o, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = place(site);
        long low = 3 ^ place >>> SETTLES_SHIFT - 1 & 2;
        long me = U.getLong(Thread.currentThread(), TID);
        if (o != null && place >= 0 && (U.getLong(o, place >>> 24 & 0xffff) & (OWNER | low))
                != (me << OWNER_SHIFT | me >>> 64 - OWNER_SHIFT << 2 | low)) {
            readOther(o, place, site);
        }
    }

    public static void write(Object o, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = place(site);
        long low = 3 ^ place >>> SETTLES_SHIFT - 1 & 2;
        long me = U.getLong(Thread.currentThread(), TID);
        if (o != null && place >= 0 && (U.getLong(o, place >>> 24 & 0xffff) & (OWNER | low))
                != (me << OWNER_SHIFT | me >>> 64 - OWNER_SHIFT << 2 | low)) {
            writeOther(o, null, place, site);
        }
    }

    public static void write(Object o, Object value, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = place(site);
        long me = U.getLong(Thread.currentThread(), TID);
        if (o != null && place >= 0 && U.getLong(o, place >>> 24 & 0xffff)
                != (me << OWNER_SHIFT | me >>> 64 - OWNER_SHIFT << 2 | AtomvetSettled.OWN)) {
            writeOther(o, value, place, site);
        }
    }

    @DontInline
    private static void readOther(Object o, long known, int site) {
        long number = number(o, known);
        if (AtomvetSettled.isOnlyRead(number) && (known & VOLATILE_FIELD) == 0 && !AtomvetContended.is(site)) {
            return;
        }
        if (number == 0 && isNew(o, known)) {
            return;
        }
        long base = isBase(number) ? number : object(o, site, AtomvetSettled.READ);
        if (isBase(base)) {
            long place = known != 0 ? known : place(site);
            long address = base + (place & 0xffffff);
            if ((place & VOLATILE_FIELD) != 0) {
                accessVolatile(address, (int) (place >>> 40 & 0xff), site, 0);
            } else {
                readAt(o, base, address, (int) (place >>> 40 & 0xff), site);
            }
        }
    }

    @DontInline
    private static void writeOther(Object o, Object value, long known, int site) {
        long number = number(o, known);
        if (AtomvetSettled.is(number) && AtomvetSettled.allows(number, AtomvetSettled.WRITE)
                && (known & VOLATILE_FIELD) == 0) {
            if (value != null) {
                AtomvetObjects.publish(value);
            }
            return;
        }
        if (number == 0 && isNew(o, known)) {
            return;
        }
        long base = isBase(number) ? number : object(o, site, AtomvetSettled.WRITE);
        if (value != null && base != 0) {
            AtomvetObjects.publish(value);
        }
        if (isBase(base)) {
            long place = known != 0 ? known : place(site);
            long address = base + (place & 0xffffff);
            if ((place & VOLATILE_FIELD) != 0) {
                accessVolatile(address, (int) (place >>> 40 & 0xff), site, WRITE);
            } else {
                writeAt(o, base, address, (int) (place >>> 40 & 0xff), site);
            }
        }
    }

    /** The number of an object, or 0 if it is not known where that is. */
    private static long number(Object o, long place) {
        long where = place >>> 24 & 0xffff;
        return where == 0 ? 0 : U.getLong(o, where);
    }

    /** Whether an object was nobody's so far. It is this thread's now. */
    private static boolean isNew(Object o, long place) {
        long where = place >>> 24 & 0xffff;
        return where != 0 && U.compareAndSetLong(o, where, 0, tag(Thread.currentThread()));
    }

    /** Whether a number is a base and nothing else. */
    private static boolean isBase(long number) {
        return number != 0 && (number & 1) == 0;
    }

    /** What touch() of AtomvetObjects gives for the object of a field access; 0 if nothing is to be recorded. */
    @DontInline
    private static long object(Object o, int site, int access) {
        T t = t();
        if (t == null || t.busy) {
            return 0;
        }
        // This may take a while.
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
        if (place < 0) {
            return 0;
        }
        boolean isVolatile = (place & VOLATILE_FIELD) != 0;
        return AtomvetObjects.touch(t, o, place >>> 24 & 0xffff, isVolatile ? AtomvetSettled.ATOMIC : access, site);
    }

    // Most static fields are final, which the second compiler knows here.
    public static void readStatic(int site) {
        if (EMPTY) {
            nothing(site);
        } else if (place(site) >= 0) {
            readStaticOther(site);
        }
    }

    @DontInline
    private static void readStaticOther(int site) {
        long place = staticField(site);
        if (place >= VOLATILE_STATIC) {
            accessVolatile(AtomvetStatics.address(place), 0xff, site, 0);
        } else if (place > 0 && !AtomvetStatics.isSettled(place)) {
            readAt(null, place, AtomvetStatics.address(place), 0xff, site);
        }
    }

    @DontInline
    public static void writeStatic(int site) {
        long place = EMPTY ? -1 : staticField(site);
        if (place >= VOLATILE_STATIC) {
            accessVolatile(AtomvetStatics.address(place), 0xff, site, WRITE);
        } else if (place > 0) {
            AtomvetStatics.disturb(place);
            writeAt(null, place, AtomvetStatics.address(place), 0xff, site);
            AtomvetStatics.disturb(place);
        }
    }

    private static long staticField(int site) {
        long address = place(site);
        return address == 0 ? AtomvetObjects.resolveStatic(site) : address;
    }

    @DontInline
    public static void writeStatic(Object value, int site) {
        if (value != null && !EMPTY) {
            AtomvetObjects.publish(value);
        }
        writeStatic(site);
    }

    @DontInline
    public static void readElement(int[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void readElement(long[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void readElement(float[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void readElement(double[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void readElement(Object[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void readElement(char[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    @DontInline
    public static void readElement(short[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    /** Bytes and booleans. */
    @DontInline
    public static void readElement(Object array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < smallLength(array) && index < CUTOFF) {
            readElement(array, HEADER + (long) index, 0x1, site);
        }
    }

    @DontInline
    public static void writeElement(int[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void writeElement(long[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void writeElement(float[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void writeElement(double[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @DontInline
    public static void writeElement(char[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    @DontInline
    public static void writeElement(short[] array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    /** Bytes and booleans. */
    @DontInline
    public static void writeElement(Object array, int index, int site) {
        if (!EMPTY && array != null && index >= 0 && index < smallLength(array) && index < CUTOFF) {
            writeElement(array, HEADER + (long) index, 0x1, site);
        }
    }

    @DontInline
    public static void writeElement(Object[] array, int index, Object value, int site) {
        if (EMPTY || array == null || index < 0 || index >= array.length) {
            return;
        }
        long base = AtomvetUnnumbered.touch(array, AtomvetSettled.WRITE);
        if (base == 0 || value != null && !array.getClass().getComponentType().isInstance(value)) {
            return;
        }
        if (value != null) {
            AtomvetObjects.publish(value);
        }
        if (isBase(base) && index < CUTOFF) {
            writeAt(array, base, base + HEADER + ((long) index << 3), 0xff, site);
        }
    }

    static int smallLength(Object array) {
        return array instanceof byte[] ? ((byte[]) array).length : ((boolean[]) array).length;
    }

    @DontInline
    private static void readElement(Object array, long displacement, int bytes, int site) {
        long base = AtomvetUnnumbered.touch(array, AtomvetSettled.READ);
        if (isBase(base)) {
            readAt(array, base, base + displacement, bytes, site);
        }
    }

    @DontInline
    private static void writeElement(Object array, long displacement, int bytes, int site) {
        long base = AtomvetUnnumbered.touch(array, AtomvetSettled.WRITE);
        if (isBase(base)) {
            writeAt(array, base, base + displacement, bytes, site);
        }
    }

    /** An access to memory that others can reach, of an object with this base or, where that is null, of a static field with this word. */
    private static void readAt(Object o, long base, long address, int bytes, int site) {
        T t = t();
        if (t == null) {
            return;
        }
        if (AtomvetSettled.isTime(t)) {
            AtomvetSettled.lookAt(t, o, base);
        }
        long where = word(t, READS, READ_SHIFT, address);
        if (!isCovered(t, where, address, bytes) && !isLate(t, where, address, bytes, site, 0)) {
            begin(t, address, bytes, site, 0);
        }
    }

    private static void writeAt(Object o, long base, long address, int bytes, int site) {
        T t = t();
        if (t == null) {
            return;
        }
        if (o != null && AtomvetSettled.isTime(t)) {
            AtomvetSettled.lookAt(t, o, base);
        }
        long where = word(t, WRITES, WRITE_SHIFT, address);
        if (!isCovered(t, where, address, bytes) && !isLate(t, where, address, bytes, site, 1)) {
            begin(t, address, bytes, site, 1);
        }
    }

    /** No lock has to protect a volatile field: nothing but the accesses tells their order. See crates/recorder/src/atomics.rs. */
    @DontInline
    private static void accessVolatile(long address, int bytes, int site, int writes) {
        T t = t();
        if (t != null) {
            begin(t, address, bytes, site, writes | VOLATILE);
        }
    }

    /** What an access is: see access() of natives.rs. */
    private static final int WRITE = 1;
    private static final int VOLATILE = 2;

    /** Where the filter has this thread's word for an address. */
    private static long word(T t, long plane, int shift, long address) {
        long place = address & -GRANULE;
        return U.getLong(t.recorder + plane) + (shift >= 0 ? place << shift : place >> -shift);
    }

    private static boolean isCovered(T t, long where, long address, int bytes) {
        long word = U.getLong(where);
        U.putLong(t.recorder + SEEN, U.getLong(t.recorder + SEEN) + 1);
        return word - U.getLong(t.recorder + KEY) >>> INDEX_SHIFT == 0
            && (~word >>> (address & GRANULE - 1) & bytes) == 0
            && t.depth() == t.known();
    }

    /**
     * An access that is late where its word is quiet, as in accesses! of crates/runtime/src/hooks/plain.rs; false if it is none. Nobody can
     * speak of it before it is made, because it is under way from here on: see under_way.rs.
     */
    private static boolean isLate(T t, long where, long address, int bytes, int site, int writes) {
        long recorder = t.recorder;
        long word = U.getLong(where);
        // Nothing is accessed that is in two quarters of a word, but for what takes two.
        long quiet = (bytes > 0xf ? 3L : 1L) << QUIET_SHIFT + (int) (address >>> 2 & 3);
        if (word == 0) {
            return isFirst(t, where, address, bytes, site, writes);
        }
        if (word - U.getLong(recorder + BIRTH) >>> INDEX_SHIFT != 0 || (~word & quiet) != 0 || t.busy) {
            return false;
        }
        finish(t);
        if (t.depth() != t.known() && !enterAll(t)) {
            return false;
        }
        long key = U.getLong(recorder + KEY);
        long accessed = (long) bytes << (address & GRANULE - 1);
        long kept = word & KEPT_OF_THIS;
        if (word - key >>> INDEX_SHIFT != 0) {
            // What is on record of an earlier period is not to be forgotten, which takes more than this.
            if ((word & LATE_READ) == 0 && (word & KEPT_OF_THIS & ~KEPT_OF_EARLIER & ~accessed) != 0) {
                return false;
            }
            kept = word & KEPT_OF_EARLIER;
        }
        U.putInt(t.cell + CELL_PLACE, (int) (address >>> STRIPE_SHIFT) | 1 << 31);
        U.putLong(t.cell, t.cell + CELL_PLACE);
        long late = writes == 0 ? LATE_READ : LATE_WRITE;
        if (!U.compareAndSetLong(null, where, word, key | late | kept | accessed)) {
            finish(t);
            return false;
        }
        remember(t, key, address, bytes, site, writes);
        return true;
    }

    /**
     * The same where the thread has no word yet and nobody else has one. Threads that are here for the first time at once all add their bits
     * to the summary, then write words, which tell of no access yet, and then look: all but one, if not all, see another. Who comes by way
     * of the agent adds its bit before it looks at words, so that it is seen, or else sees a word that is quiet.
     */
    @DontInline
    private static boolean isFirst(T t, long where, long address, int bytes, int site, int writes) {
        long summary = SUMMARIES + (address >>> 6 << 1);
        int first = writes == 0 ? t.firstRead : t.firstWrite;
        if ((U.getShort(summary) & first >>> 16) != 0 || U.getInt(t.members) != 1 || t.busy) {
            return false;
        }
        finish(t);
        if (t.depth() != t.known() && !enterAll(t)) {
            return false;
        }
        long key = U.getLong(t.recorder + KEY);
        U.putInt(t.cell + CELL_PLACE, (int) (address >>> STRIPE_SHIFT) | 1 << 31);
        U.putLong(t.cell, t.cell + CELL_PLACE);
        if ((U.getShort(summary) & first & 0xffff) == 0) {
            // In four bytes, because nothing shorter is changed at once.
            int shift = (int) (summary & 2) << 3;
            U.getAndBitwiseOrInt(null, summary & -4, (first & 0xffff) << shift);
        }
        long quiet = key | LATE_READ | QUIET;
        if (!U.compareAndSetLong(null, where, 0, quiet)) {
            finish(t);
            return false;
        }
        if ((U.getShortVolatile(null, summary) & first >>> 16) != 0) {
            U.getAndBitwiseAndLong(null, where, ~QUIET);
            finish(t);
            return false;
        }
        long accessed = (long) bytes << (address & GRANULE - 1);
        if (!U.compareAndSetLong(null, where, quiet, quiet | (writes == 0 ? 0 : LATE_WRITE) | accessed)) {
            finish(t);
            return false;
        }
        remember(t, key, address, bytes, site, writes);
        return true;
    }

    /** Keeps what is needed to record a late access after all, as remember() of late.rs. */
    private static void remember(T t, long key, long address, int bytes, int site, int writes) {
        long recorder = t.recorder;
        long recent = recorder + RECENT + ((address >>> 3 & RECENT_MASK) << 4);
        U.putLong(recent, address & -8);
        U.putLong(recent + 8, site);
        int count = U.getInt(recorder + BARE);
        if (count < MOST_BARE && U.getInt(recorder + LOCKS) == 0 && t.depth() > 0) {
            long bare = recorder + BARES + count * A_BARE;
            U.putLong(bare + BARE_ADDRESS, address);
            U.putLong(bare + BARE_PLACE, site);
            U.putLong(bare + BARE_KEY, key);
            U.putInt(bare + BARE_SIZE, Integer.bitCount(bytes));
            U.putByte(bare + BARE_WRITES, (byte) writes);
            U.putInt(recorder + BARE, count + 1);
        }
    }

    /** Whether an access is under way, and no stripe is held. */
    static boolean isUnderWayAlone(T t) {
        return U.getLong(t.cell) == t.cell + CELL_PLACE;
    }

    /** The access is over when a 0 is written there. */
    static void holds(T t, long end) {
        U.putLong(t.cell, end);
    }

    /** Tells the recorder of blocks that were entered, as enter() of blocks.rs; false if it has to do it itself. */
    private static boolean enterAll(T t) {
        long recorder = t.recorder;
        int known = t.known();
        int depth = t.depth();
        long newest = U.getLong(recorder + NEWEST);
        if (depth > DEPTH || (newest + (depth - known) * STEP ^ newest) >>> INDEX_SHIFT != 0) {
            return false;
        }
        int bare = U.getInt(recorder + BARE);
        long frame = U.getLong(recorder + FRAMES) + known * FRAME;
        long key = U.getLong(recorder + KEY);
        while (known < depth) {
            // In this order, because other threads look at it at any moment.
            newest += STEP;
            U.putLong(recorder + NEWEST, newest);
            U.putLong(recorder + KEY, newest);
            U.storeFence();
            // Stack and place of a frame are 0 in a JVM, and nobody writes anything else there.
            U.putLong(frame + FRAME_BLOCK, FUNCTION | U.getInt(t.blocks + ((long) known << 2)));
            U.putLong(frame + FRAME_KEY, key);
            U.putLong(frame + FRAME_ENTERED, newest);
            U.putLong(frame + FRAME_BARE, bare);
            U.storeFence();
            known++;
            U.putLong(recorder + OPEN, known);
            frame += FRAME;
            key = newest;
        }
        t.setKnown(known);
        return true;
    }

    @DontInline
    private static void begin(T t, long address, int bytes, int site, int what) {
        if (t.busy) {
            return;
        }
        finish(t);
        int from = Math.min(t.known(), DEPTH);
        int to = Math.min(t.depth(), DEPTH);
        t.setKnown(t.depth());
        holds(t, access(address, bytes, site, what, t.blocks, from, to));
    }

    /** Before a call that reads an atomic, and nothing else. */
    @DontInline
    public static void readByCall(Object o, int site) {
        T t = t();
        if (t != null && o != null && !t.busy) {
            finish(t);
            read(t, AtomvetObjects.shared(t, o), 8, site);
        }
    }

    /** A read of a variable that needs no lock, by a call. */
    static void read(T t, long address, int bytes, int site) {
        if (t.known() != t.depth()) {
            enterAll(t);
        }
        int from = Math.min(t.known(), DEPTH);
        int to = Math.min(t.depth(), DEPTH);
        t.setKnown(t.depth());
        holds(t, access(address, (1 << bytes) - 1, site, VOLATILE, t.blocks, from, to));
    }

    /** After an access, or several. */
    public static void accessed() {
        if (EMPTY) {
            nothing(0);
            return;
        }
        long cell = CELLS + ((U.getLong(Thread.currentThread(), TID) & CELLS_MASK) << CELL_SHIFT);
        long end = U.getLong(cell);
        if (end != 0) {
            U.putIntRelease(null, end, 0);
            U.putLong(cell, 0L);
        }
    }

    private static long cell(Thread thread) {
        return CELLS + ((U.getLong(thread, TID) & CELLS_MASK) << CELL_SHIFT);
    }

    /** The access under way is over, or threw. */
    static void finish(T t) {
        long end = U.getLong(t.cell);
        if (end != 0) {
            U.putIntRelease(null, end, 0);
            U.putLong(t.cell, 0L);
        }
    }

    /** An object was copied, which mostly has the number of the original now. If it has not, it was published meanwhile. */
    @DontInline
    public static void cloned(Object original, Object copy) {
        T t = copy == null || copy == original ? null : t();
        if (t != null && !t.busy) {
            long where = AtomvetObjects.About.of(t, copy).where;
            if (where != 0 && original.getClass() == copy.getClass()
                    && AtomvetObjects.isOfSame(U.getLong(original, where), U.getLong(copy, where))) {
                U.putLong(copy, where, 0);
            }
        }
    }

    // Blocks.

    @DontInline
    public static void enter(int site) {
        if (!EMPTY) {
            enter(cell(Thread.currentThread()), site);
        }
    }

    private static void enter(long cell, int site) {
        long blocks = U.getLong(cell + CELL_BLOCKS);
        if (blocks == 0) {
            if (t() == null) {
                return;
            }
            blocks = U.getLong(cell + CELL_BLOCKS);
        }
        int depth = U.getInt(cell + CELL_DEPTH);
        if (depth < DEPTH) {
            U.putInt(blocks + ((long) depth << 2), site);
        }
        U.putInt(cell + CELL_DEPTH, depth + 1);
        long heard = (depth == 0 ? HEARD_OF_OUTERMOST : HEARD_OF) + (site >>> 3);
        if ((U.getByte(heard) >>> (site & 7) & 1) == 0) {
            hearOf(heard, site);
        }
    }

    /** Every block is heard of once, whatever happens in it; twice, if another thread hears of a neighbour at this moment. */
    @DontInline
    private static void hearOf(long where, int site) {
        U.putByte(where, (byte) (U.getByte(where) | 1 << (site & 7)));
        introduceBlocks(t());
    }

    @DontInline
    public static void exit(int site) {
        if (EMPTY) {
            return;
        }
        long cell = cell(Thread.currentThread());
        long end = U.getLong(cell);
        if (end != 0) {
            U.putIntRelease(null, end, 0);
            U.putLong(cell, 0L);
        }
        long blocks = U.getLong(cell + CELL_BLOCKS);
        int depth = U.getInt(cell + CELL_DEPTH) - 1;
        if (depth < DEPTH && (depth < 0 || U.getInt(blocks + ((long) depth << 2)) != site)) {
            depth = find(blocks, depth, site);
            if (depth < 0) {
                return;
            }
        }
        exitTo(cell, depth);
    }

    private static void exitTo(long cell, int depth) {
        U.putInt(cell + CELL_DEPTH, depth);
        if (depth < U.getInt(cell + CELL_KNOWN)) {
            leaveTo(cell, depth);
        }
    }

    /** Tells the recorder how many blocks are open. The usual case is done here, as in leave() of blocks.rs. */
    private static void leaveTo(long cell, int depth) {
        int known = U.getInt(cell + CELL_KNOWN);
        U.putInt(cell + CELL_KNOWN, depth);
        long recorder = U.getLong(cell + CELL_RECORDER);
        int bare = U.getInt(recorder + BARE);
        long frame = U.getLong(recorder + FRAMES) + depth * FRAME;
        boolean isUsual = depth + 1 == known && known <= DEPTH;
        boolean isAnnounced = isUsual && (U.getLong(recorder + ANNOUNCED) > depth
            || Long.compareUnsigned(U.getLong(recorder + BY_OTHER), U.getLong(frame + FRAME_ENTERED)) >= 0);
        if (!isUsual || bare != 0 && (isAnnounced || bare > U.getLong(frame + FRAME_BARE)
                && U.getLong(recorder + RECEIVED) > U.getLong(frame + FRAME_ENTERED))) {
            leave(depth);
            return;
        }
        // Other threads look at this at any moment.
        if (isAnnounced) {
            U.putLong(recorder + ANNOUNCED, depth);
            U.storeFence();
        }
        U.putLong(recorder + OPEN, depth);
        U.storeFence();
        U.putLong(recorder + KEY, Math.max(U.getLong(frame + FRAME_KEY), U.getLong(recorder + RECEIVED)));
        if (bare != 0) {
            U.putInt(recorder + BARE, Math.min(bare, U.getInt(frame + FRAME_BARE)));
        }
    }

    /** Where a block is that others were left in without a word, or below 0 if it was entered unseen. */
    @DontInline
    private static int find(long blocks, int depth, int site) {
        while (depth >= 0 && U.getInt(blocks + ((long) depth << 2)) != site) {
            depth--;
        }
        return depth;
    }

    /** Before something is recorded. */
    static void tellBlocks(T t) {
        if (t.known() != t.depth() && !enterAll(t)) {
            introduceBlocks(t);
        }
    }

    /** Tells the recorder of blocks, which announces those that it has not heard of before. */
    @DontInline
    private static void introduceBlocks(T t) {
        int depth = t.depth();
        tell(t.blocks, Math.min(t.known(), DEPTH), Math.min(depth, DEPTH));
        t.setKnown(depth);
    }

    // Monitors. A block begins with the monitor if the word of its site is STATEMENT, or the other one and the method is the
    // outermost one of the thread.

    private static final long STATEMENT = 2;
    private static final long STATEMENT_IF_OUTERMOST = 3;

    @DontInline
    public static void acquired(Object o, int site) {
        T t = t();
        if (t != null && o != null) {
            long word = site(site);
            boolean block = word == STATEMENT || word == STATEMENT_IF_OUTERMOST && t.depth() == 1;
            if (block) {
                enter(t.cell, site);
            }
            hold(t, o, block, site);
        }
    }

    @DontInline
    public static void releasing(Object o, int site) {
        T t = t();
        if (t == null || o == null) {
            return;
        }
        int at = t.held - 1;
        while (at >= 0 && t.monitors[at] != o) {
            at--;
        }
        if (at >= 0) {
            while (t.held > at) {
                letGo(t, site);
            }
        }
    }

    @DontInline
    public static void enterSynchronized(Object o, int site) {
        T t = t();
        if (t != null) {
            hold(t, o, false, site);
        }
    }

    @DontInline
    public static void exitSynchronized(int site) {
        T t = t();
        if (t != null && t.held > 0) {
            letGo(t, site);
        }
    }

    private static void hold(T t, Object o, boolean block, int site) {
        finish(t);
        int held = t.held;
        if (held == t.monitors.length) {
            t.monitors = java.util.Arrays.copyOf(t.monitors, 2 * held);
            t.monitorBases = java.util.Arrays.copyOf(t.monitorBases, 2 * held);
            t.monitorBlocks = java.util.Arrays.copyOf(t.monitorBlocks, 2 * held);
            t.lastLocks = java.util.Arrays.copyOf(t.lastLocks, 2 * held);
        }
        // The order that a lock makes is always recorded: the filter leaves out accesses because of it.
        long base = o == null || t.busy ? 0 : lock(t, o, held);
        t.monitors[held] = o;
        t.monitorBases[held] = base;
        t.monitorBlocks[held] = block;
        t.held = held + 1;
        if (base != 0) {
            tellBlocks(t);
            synchronise(ACQUIRE, base, site);
        }
    }

    /** The base of an object that is locked, as the held-th. */
    private static long lock(T t, Object o, int held) {
        if (AtomvetObjects.About.of(t, o).where != 0) {
            return AtomvetObjects.shared(t, o);
        }
        // The hash code of a locked object takes long to get.
        AtomvetUnnumbered.Shared known = t.lastLocks[held];
        if (known == null || !known.refersTo(o)) {
            known = AtomvetUnnumbered.Shared.of(t, o);
            t.lastLocks[held] = known;
        }
        return known.base;
    }

    private static void letGo(T t, int site) {
        finish(t);
        int held = t.held - 1;
        long base = t.monitorBases[held];
        boolean block = t.monitorBlocks[held];
        t.monitors[held] = null;
        t.held = held;
        if (base != 0) {
            tellBlocks(t);
            synchronise(RELEASE, base, site);
        }
        if (block && t.depth() > 0) {
            exitTo(t.cell, t.depth() - 1);
        }
    }

    /** Called by the agent before the thread waits. */
    private static void waits(Object o) {
        T t = t();
        if (t == null || t.busy) {
            return;
        }
        for (int at = t.held - 1; at >= 0; at--) {
            if (t.monitors[at] == o) {
                finish(t);
                tellBlocks(t);
                synchronise(t.monitorBases[at] == 0 ? -1 : WAIT, t.monitorBases[at], 0);
                return;
            }
        }
    }

    private static final int ACQUIRE = 0;
    private static final int RELEASE = 1;
    private static final int WAIT = 2;

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
        leaveCall(site, result == null ? RETURNS_NO : RETURNS_YES);
    }

    public static void exitCall(boolean result, int site) {
        leaveCall(site, result ? RETURNS_YES : RETURNS_NO);
    }

    public static void throwCall(int site) {
        leaveCall(site, THROWS);
    }

    private static final int ENTERS = 0;
    private static final int RETURNS = 1;
    private static final int RETURNS_NO = 2;
    private static final int RETURNS_YES = 3;
    private static final int THROWS = 4;

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

    private static void call(T t, Object o, int site, int way) {
        finish(t);
        long kind = site(site);
        if (kind == FORK) {
            Thread thread = (Thread) o;
            if (way == ENTERS && thread.getState() == Thread.State.NEW) {
                AtomvetObjects.publish(thread);
                Object task = Tasks.of(thread);
                if (task != null) {
                    AtomvetObjects.publish(task);
                }
                tellBlocks(t);
                fork(keyOf(thread), thread.getName(), site);
            }
        } else if (kind == JOIN) {
            Thread thread = (Thread) o;
            if (way == RETURNS && thread.getState() == Thread.State.TERMINATED) {
                tellBlocks(t);
                join(keyOf(thread), site);
            }
        } else if (kind == INITIALISE) {
            initialises(t, site, way == ENTERS ? 0 : 1);
        }
    }

    /** Blocks that are open are not the initialiser's; without any there is nothing to tell. */
    private static void initialises(T t, int site, int isOver) {
        if (t.depth() > 0) {
            tellBlocks(t);
            initialises(isOver, site);
        }
    }

    private static final long INITIALISE = 3;
    private static final long FORK = 1;
    private static final long JOIN = 2;

    /** What a thread is made to run: a field of Thread up to JDK 18, later one of its holder. */
    private static final class Tasks {
        private static final long TARGET = offset(Thread.class, "target");
        private static final long HOLDER = offset(Thread.class, "holder");
        private static long task;

        static Object of(Thread thread) {
            if (TARGET != 0) {
                return U.getReference(thread, TARGET);
            }
            Object holder = HOLDER == 0 ? null : U.getReference(thread, HOLDER);
            if (holder == null) {
                return null;
            }
            if (task == 0) {
                task = offset(holder.getClass(), "task");
            }
            return task == 0 ? null : U.getReference(holder, task);
        }
    }

    static long offset(Class<?> owner, String field) {
        try {
            return U.objectFieldOffset(owner, field);
        } catch (InternalError none) {
            return 0;
        }
    }

    /** The fields of a class as the program wrote them: without the one that the agent adds (ADDED_FIELDS of hook_classes.rs). */
    public static java.lang.reflect.Field[] visible(java.lang.reflect.Field[] fields) {
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].getName().equals("$atomvet")) {
                java.lang.reflect.Field[] others = new java.lang.reflect.Field[fields.length - 1];
                System.arraycopy(fields, 0, others, 0, i);
                System.arraycopy(fields, i + 1, others, i, others.length - i);
                return others;
            }
        }
        return fields;
    }

    /** Called by the agent when all classes are there. Native methods are looked up when they are first called: now. */
    private static void start() {
        t();
        access(0, 0, 0, 0, 0, 0, 0);
        tell(0, 0, 0);
        leave(Integer.MAX_VALUE);
        synchronise(-1, 0, 0);
        fork(-1, null, 0);
        join(-1, 0);
        initialises(0, 0);
        initialises(1, 0);
        announce(0, 0, 0);
        newLife(0, 0);
        fieldOf(0);
        loaderOf(0);
        AtomvetSettled.company(0, 0);
        AtomvetStatics.isSettled(0);
        AtomvetObjects.About.ALL.get(Object[].class);
    }

    // The agent.

    static native long constant(int which);
    private static native long attach(long thread, String name);
    private static native boolean isSilent();
    private static native long blocksOf(long recorder);
    private static native long firstOf(long recorder, int which);
    private static native void countVirtual();
    static native void countUnfollowed();
    private static native long access(
        long address, int bytes, int site, int what, long blocks, int from, int to);
    private static native void tell(long blocks, int from, int to);
    private static native void leave(int depth);
    private static native void synchronise(int what, long base, int site);
    private static native void fork(long thread, String name, int site);
    private static native void join(long thread, int site);
    private static native void initialises(int isOver, int site);
    static native int describe(Class<?> type, int parent);
    static native String[] fields(Class<?> type);
    static native void announce(long base, int type, int isClass);
    static native void newLife(long base, long bytes);
    static native void named(int type, long displacement, String field, int isStatic);
    static native String[] fieldOf(int site);
    static native Object loaderOf(int site);
}
