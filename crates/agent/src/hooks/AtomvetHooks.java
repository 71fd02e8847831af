package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;

/**
 * What rewritten code calls. The agent defines this class in java.base, where every class loader and module sees it.
 *
 * Nearly all calls end here, without leaving Java: accesses to objects that are still their creator's, accesses that a
 * record covers, and late ones where nobody else has been (crates/recorder/src/shadow.rs says what that means; isCovered,
 * isLate, enterAll and leaveTo do what is done there). The rest goes on in the agent.
 *
 * An object is 0 (nobody has touched it), or its owner's (a number that tells the thread and ends in two bits that the
 * first word of no object ends in), or shared: an even number, its base, where it would be in a memory that has nothing
 * else in it. The number is in a field that the agent adds to application classes. For other objects it is in two tables
 * by identity: OWNERS may forget, and then the object counts as shared; Shared never does.
 *
 * Nothing here may call what could be instrumented, but for what "busy" guards.
 */
public final class AtomvetHooks {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Of the agent and the recorder: see constant() in natives.rs. */
    private static final long SITES = constant(0);
    private static final long NEXT_BASE = constant(1);
    private static final long OWNERS = constant(2);
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
    private static final long SEEN = constant(51);

    private static final long STRIPES = constant(60);
    private static final long STRIPES_MASK = constant(61);
    private static final long STEP = constant(62);
    private static final long QUIET = constant(63);
    private static final long LATE_READ = constant(64);
    private static final long LATE_WRITE = constant(65);
    private static final long KEPT_OF_EARLIER = constant(66);
    private static final long KEPT_OF_THIS = constant(67);

    private static final long TID = U.objectFieldOffset(Thread.class, "tid");
    private static final String ID_FIELD = "$atomvet";

    /** Which bits of an object's first word are its identity hash code, and which say that it is not locked. */
    private static final long HASH_BITS = hashBits();

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
        /** Blocks that are open, and how many of them the recorder knows. */
        int depth;
        int known;
        /** The stripe that an access under way holds. */
        long holding;
        boolean busy;
        /** Monitors that are held, and calls that are watched; the base, or 0 where it is not recorded. */
        int held;
        Object[] monitors = new Object[16];
        long[] monitorBases = new long[16];
        boolean[] monitorBlocks = new boolean[16];
        /** What was locked last when so many monitors were held. */
        Shared[] lastLocks = new Shared[16];
        int calls;
        Object[] callObjects = new Object[16];
        int[] callSites = new int[16];
        /** For share(), which needs some memory and does not call itself. */
        final Object[] open = new Object[64];
        /** Shared objects without a number that this thread has used lately, by identity hash code. */
        final Shared[] lately = new Shared[LATELY];
        /** Where a method is about to be called that may be watched; the innermost watched call. See AtomvetCalls. */
        int calling;
        AtomvetCalls.Call call;

        T(Thread thread, long tag, long recorder) {
            this.thread = thread;
            this.tag = tag;
            this.recorder = recorder;
            this.blocks = blocksOf(recorder);
        }
    }

    /** How many blocks are kept; deeper ones belong to the deepest. */
    private static final int DEPTH = 0xffff;

    private static final T[] THREADS = new T[1 << 12];

    private static long tag(Thread thread) {
        return U.getLong(thread, TID) << 2 | 3;
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

    /** Called by the agent in a thread that ends. */
    private static void threadEnds() {
        Thread thread = Thread.currentThread();
        int index = (int) U.getLong(thread, TID) & THREADS.length - 1;
        synchronized (THREADS) {
            T before = null;
            for (T t = THREADS[index]; t != null; before = t, t = t.next) {
                if (t.thread == thread) {
                    finish(t);
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
    // its address, for others the displacement (24 bits), where the object's number is (16 bits), and the bytes (8 bits).

    static long site(int site) {
        return U.getLong(SITES + ((long) site << 3));
    }

    // Of every hook as little as possible stands where it is called, because compilers take their time over what is
    // repeated at every access: whether the object is this thread's own. Where a site is not known yet, "where" is 0, and
    // the first word of an object is compared, which never is like a tag.

    @ForceInline
    private static boolean isOwn(Object o, long place) {
        return U.getLong(o, place >>> 24 & 0xffff) == tag(Thread.currentThread());
    }

    @DontInline
    private static void nothing(int site) {}

    @ForceInline
    public static void read(Object o, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = site(site);
        if (o != null && place >= 0 && !isOwn(o, place)) {
            readOther(o, site);
        }
    }

    @ForceInline
    public static void write(Object o, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = site(site);
        if (o != null && place >= 0 && !isOwn(o, place)) {
            writeOther(o, null, site);
        }
    }

    @ForceInline
    public static void write(Object o, Object value, int site) {
        if (EMPTY) {
            nothing(site);
            return;
        }
        long place = site(site);
        if (o != null && place >= 0 && !isOwn(o, place)) {
            writeOther(o, value, site);
        }
    }

    @DontInline
    private static void readOther(Object o, int site) {
        long base = base(o, site);
        if (base != 0) {
            long place = site(site);
            readAt(base + (place & 0xffffff), (int) (place >>> 40), site);
        }
    }

    @DontInline
    private static void writeOther(Object o, Object value, int site) {
        long base = base(o, site);
        if (base != 0) {
            if (value != null) {
                publish(value);
            }
            long place = site(site);
            writeAt(base + (place & 0xffffff), (int) (place >>> 40), site);
        }
    }

    private static long base(Object o, int site) {
        long where = site(site) >>> 24 & 0xffff;
        if (where != 0) {
            long id = U.getLong(o, where);
            if (id != 0 && (id & 1) == 0) {
                return id;
            }
        }
        return object(o, site);
    }

    /** The base of an object of a field access, or 0 if nothing is to be recorded. */
    @DontInline
    private static long object(Object o, int site) {
        T t = t();
        if (t == null || t.busy) {
            return 0;
        }
        long place = site(site);
        if (place == 0) {
            t.busy = true;
            try {
                place = resolve(o, site);
            } finally {
                t.busy = false;
            }
        }
        if (place < 0) {
            return 0;
        }
        return touch(t, o, place >>> 24 & 0xffff);
    }

    @ForceInline
    public static void readStatic(int site) {
        if (EMPTY) {
            nothing(site);
        } else if (site(site) >= 0) {
            readStaticField(site);
        }
    }

    @ForceInline
    public static void writeStatic(int site) {
        if (EMPTY) {
            nothing(site);
        } else if (site(site) >= 0) {
            writeStaticField(site);
        }
    }

    @DontInline
    public static void writeStatic(Object value, int site) {
        if (value != null && !EMPTY) {
            publish(value);
        }
        writeStatic(site);
    }

    @DontInline
    private static void readStaticField(int site) {
        long address = site(site);
        if (address == 0) {
            address = resolveStatic(site);
        }
        if (address > 0) {
            readAt(address, 0xff, site);
        }
    }

    @DontInline
    private static void writeStaticField(int site) {
        long address = site(site);
        if (address == 0) {
            address = resolveStatic(site);
        }
        if (address > 0) {
            writeAt(address, 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(int[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(long[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(float[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(double[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(Object[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void readElement(char[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    @ForceInline
    public static void readElement(short[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            readElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    /** Bytes and booleans. */
    @DontInline
    public static void readElement(Object array, int index, int site) {
        if (array != null && index >= 0 && index < smallLength(array) && index < CUTOFF) {
            readElement(array, HEADER + (long) index, 0x1, site);
        }
    }

    @ForceInline
    public static void writeElement(int[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void writeElement(long[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void writeElement(float[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void writeElement(double[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 3), 0xff, site);
        }
    }

    @ForceInline
    public static void writeElement(char[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    @ForceInline
    public static void writeElement(short[] array, int index, int site) {
        if (array != null && index >= 0 && index < array.length && index < CUTOFF) {
            writeElement((Object) array, HEADER + ((long) index << 1), 0x3, site);
        }
    }

    /** Bytes and booleans. */
    @DontInline
    public static void writeElement(Object array, int index, int site) {
        if (array != null && index >= 0 && index < smallLength(array) && index < CUTOFF) {
            writeElement(array, HEADER + (long) index, 0x1, site);
        }
    }

    @DontInline
    public static void writeElement(Object[] array, int index, Object value, int site) {
        if (EMPTY || array == null || index < 0 || index >= array.length) {
            return;
        }
        long base = array(array);
        if (base == 0 || value != null && !array.getClass().getComponentType().isInstance(value)) {
            return;
        }
        if (value != null) {
            publish(value);
        }
        if (index < CUTOFF) {
            writeAt(base + HEADER + ((long) index << 3), 0xff, site);
        }
    }

    private static int smallLength(Object array) {
        return array instanceof byte[] ? ((byte[]) array).length : ((boolean[]) array).length;
    }

    @DontInline
    private static void readElement(Object array, long displacement, int bytes, int site) {
        if (EMPTY) {
            return;
        }
        long base = array(array);
        if (base != 0) {
            readAt(base + displacement, bytes, site);
        }
    }

    @DontInline
    private static void writeElement(Object array, long displacement, int bytes, int site) {
        if (EMPTY) {
            return;
        }
        long base = array(array);
        if (base != 0) {
            writeAt(base + displacement, bytes, site);
        }
    }

    static void readAt(long address, int bytes, int site) {
        T t = t();
        if (t != null) {
            long where = word(t, READS, READ_SHIFT, address);
            if (!isCovered(t, where, address, bytes) && !isLate(t, where, address, bytes, site, 0)) {
                begin(t, address, bytes, site, 0);
            }
        }
    }

    static void writeAt(long address, int bytes, int site) {
        T t = t();
        if (t != null) {
            long where = word(t, WRITES, WRITE_SHIFT, address);
            if (!isCovered(t, where, address, bytes) && !isLate(t, where, address, bytes, site, 1)) {
                begin(t, address, bytes, site, 1);
            }
        }
    }

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
            && t.depth == t.known;
    }

    /**
     * An access that is late where its word is quiet, as in accesses! of crates/runtime/src/hooks.rs; false if it is none. It holds
     * its stripe like all that are not covered, so that nobody can speak of it before it is made.
     */
    private static boolean isLate(T t, long where, long address, int bytes, int site, int writes) {
        long recorder = t.recorder;
        long birth = U.getLong(recorder + BIRTH);
        long word = U.getLong(where);
        if (word - birth >>> INDEX_SHIFT != 0 || (word & QUIET) == 0 || t.busy) {
            return false;
        }
        finish(t);
        if (t.depth != t.known && !enterAll(t)) {
            return false;
        }
        if (!tryHold(t, address)) {
            return false;
        }
        word = U.getLong(where);
        if (word - birth >>> INDEX_SHIFT != 0 || (word & QUIET) == 0) {
            finish(t);
            return false;
        }
        long key = U.getLong(recorder + KEY);
        long kept = word & (word - key >>> INDEX_SHIFT == 0 ? KEPT_OF_THIS : KEPT_OF_EARLIER);
        long late = writes == 0 ? LATE_READ : LATE_WRITE;
        U.putLong(where, key | late | kept | (long) bytes << (address & GRANULE - 1));
        long recent = recorder + RECENT + ((address >>> 3 & RECENT_MASK) << 4);
        U.putLong(recent, address & -8);
        U.putLong(recent + 8, site);
        int count = U.getInt(recorder + BARE);
        if (count < MOST_BARE && U.getInt(recorder + LOCKS) == 0 && t.depth > 0) {
            long bare = recorder + BARES + count * A_BARE;
            U.putLong(bare + BARE_ADDRESS, address);
            U.putLong(bare + BARE_PLACE, site);
            U.putLong(bare + BARE_KEY, key);
            U.putInt(bare + BARE_SIZE, Integer.bitCount(bytes));
            U.putByte(bare + BARE_WRITES, (byte) writes);
            U.putInt(recorder + BARE, count + 1);
        }
        return true;
    }

    /** Holds the stripe of an address, as hold() of natives.rs, until the access is over; false if another thread has it. */
    static boolean tryHold(T t, long address) {
        long stripe = STRIPES + ((address >>> 4 & STRIPES_MASK) << 6);
        if (!U.compareAndSetInt(null, stripe, 0, 1)) {
            return false;
        }
        t.holding = stripe;
        return true;
    }

    /** Tells the recorder of blocks that were entered, as enter() of blocks.rs; false if it has to do it itself. */
    private static boolean enterAll(T t) {
        long recorder = t.recorder;
        int known = t.known;
        int depth = t.depth;
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
            U.putInt(frame + FRAME_BARE, bare);
            U.storeFence();
            known++;
            U.putLong(recorder + OPEN, known);
            frame += FRAME;
            key = newest;
        }
        t.known = known;
        return true;
    }

    @DontInline
    private static void begin(T t, long address, int bytes, int site, int writes) {
        if (t.busy) {
            return;
        }
        finish(t);
        int from = Math.min(t.known, DEPTH);
        int to = Math.min(t.depth, DEPTH);
        t.known = t.depth;
        t.holding = access(address, bytes, site, writes, t.blocks, from, to);
    }

    /** After an access. */
    @ForceInline
    public static void accessed() {
        if (EMPTY) {
            nothing(0);
            return;
        }
        T t = THREADS[(int) U.getLong(Thread.currentThread(), TID) & THREADS.length - 1];
        if (t != null && t.holding != 0) {
            finish();
        }
    }

    @DontInline
    private static void finish() {
        T t = t();
        if (t != null) {
            finish(t);
        }
    }

    /** The access under way is over, or threw. */
    static void finish(T t) {
        long stripe = t.holding;
        if (stripe != 0) {
            t.holding = 0;
            U.putIntRelease(null, stripe, 0);
        }
    }

    /** An object was copied with the number of the original. */
    @DontInline
    public static void cloned(Object copy) {
        if (copy != null) {
            T t = t();
            if (t != null && !t.busy) {
                long where = About.of(t, copy.getClass()).where;
                if (where != 0) {
                    U.putLong(copy, where, 0);
                }
            }
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

    private static void enter(T t, int site) {
        int depth = t.depth;
        if (depth < DEPTH) {
            U.putInt(t.blocks + ((long) depth << 2), site);
        }
        t.depth = depth + 1;
        long word = SITES + ((long) site << 3);
        if (U.getLong(word) != 1) {
            // Every block is heard of once, whatever happens in it.
            U.putLong(word, 1);
            introduceBlocks(t);
        }
    }

    @DontInline
    public static void exit(int site) {
        T t = t();
        if (t != null) {
            exit(t, site);
        }
    }

    private static void exit(T t, int site) {
        int depth = t.depth - 1;
        if (depth < DEPTH && (depth < 0 || U.getInt(t.blocks + ((long) depth << 2)) != site)) {
            depth = find(t, site);
            if (depth < 0) {
                return;
            }
        }
        t.depth = depth;
        if (t.holding != 0) {
            finish(t);
        }
        if (depth < t.known) {
            leaveTo(t, depth);
        }
    }

    /** Tells the recorder how many blocks are open. The usual case is done here, as in leave() of blocks.rs. */
    private static void leaveTo(T t, int depth) {
        int known = t.known;
        t.known = depth;
        long recorder = t.recorder;
        long announced = U.getLong(recorder + ANNOUNCED);
        int bare = U.getInt(recorder + BARE);
        if (depth + 1 != known || known > DEPTH || announced >= known && bare != 0) {
            leave(depth);
            return;
        }
        long frame = U.getLong(recorder + FRAMES) + depth * FRAME;
        // Other threads look at this at any moment.
        if (announced > depth) {
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
    private static int find(T t, int site) {
        int depth = Math.min(t.depth, DEPTH) - 1;
        while (depth >= 0 && U.getInt(t.blocks + ((long) depth << 2)) != site) {
            depth--;
        }
        return depth;
    }

    /** Before something is recorded. */
    static void tellBlocks(T t) {
        if (t.known != t.depth && !enterAll(t)) {
            introduceBlocks(t);
        }
    }

    /** Tells the recorder of blocks, which announces those that it has not heard of before. */
    @DontInline
    private static void introduceBlocks(T t) {
        int depth = t.depth;
        tell(t.blocks, Math.min(t.known, DEPTH), Math.min(depth, DEPTH));
        t.known = depth;
    }

    // Monitors. Unless the word of a site is 0, a block begins with the monitor.

    @DontInline
    public static void acquired(Object o, int site) {
        T t = t();
        if (t != null && o != null) {
            boolean block = site(site) != 0;
            if (block) {
                enter(t, site);
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
        if (t.holding != 0) {
            finish(t);
        }
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
        long where = About.of(t, o.getClass()).where;
        if (where != 0) {
            long id = U.getLongVolatile(o, where);
            return id != 0 && (id & 1) == 0 ? id : share(t, o);
        }
        // The hash code of a locked object takes long to get.
        Shared known = t.lastLocks[held];
        if (known == null || !known.refersTo(o)) {
            share(t, o);
            known = Shared.entry(o, System.identityHashCode(o));
            t.lastLocks[held] = known;
        }
        return known == null ? 0 : known.base;
    }

    private static void letGo(T t, int site) {
        if (t.holding != 0) {
            finish(t);
        }
        int held = t.held - 1;
        long base = t.monitorBases[held];
        boolean block = t.monitorBlocks[held];
        t.monitors[held] = null;
        t.held = held;
        if (base != 0) {
            tellBlocks(t);
            synchronise(RELEASE, base, site);
        }
        if (block && t.depth > 0) {
            int depth = t.depth - 1;
            t.depth = depth;
            if (depth < t.known) {
                leaveTo(t, depth);
            }
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
                share(t, thread);
                Object task = Tasks.of(thread);
                if (task != null) {
                    publish(task);
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
        if (t.depth > 0) {
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

    // Objects.

    /** What is known of a class. */
    private static final class About {
        final Class<?> type;
        final int number;
        /** Where its objects have their number, or 0. */
        final long where;
        /** Its own references and those of its superclasses. */
        final long[] references;
        /** Its own fields: name, descriptor and modifiers of each. */
        final String[] fields;
        final About parent;
        /** Behind its last field. */
        final long end;
        /** Whether its objects are followed when something is published, and whether they are shared then. */
        final boolean followed;
        final boolean mayBeShared;

        private static final ClassValue<About> ALL = new ClassValue<About>() {
            @Override
            protected About computeValue(Class<?> type) {
                return new About(type);
            }
        };

        static About of(T t, Class<?> type) {
            if (t.busy) {
                return ALL.get(type);
            }
            t.busy = true;
            try {
                return ALL.get(type);
            } finally {
                t.busy = false;
            }
        }

        private About(Class<?> type) {
            this.type = type;
            Class<?> above = type.getSuperclass();
            parent = above == null || type.isArray() ? null : ALL.get(above);
            number = describe(type, parent == null ? 0 : parent.number);
            fields = type.isArray() ? new String[0] : fields(type);
            long last = parent == null ? 8 : parent.end;
            long id = parent == null ? 0 : parent.where;
            int count = parent == null ? 0 : parent.references.length;
            long[] found = new long[count + fields.length / 3];
            for (int i = 0; i < count; i++) {
                found[i] = parent.references[i];
            }
            for (int i = 0; i < fields.length; i += 3) {
                if ((Integer.parseInt(fields[i + 2]) & 8) != 0) {
                    continue;
                }
                long offset = offset(type, fields[i]);
                last = Math.max(last, offset + 8);
                if (fields[i].equals(ID_FIELD)) {
                    id = id == 0 ? offset : id;
                } else if (fields[i + 1].charAt(0) == 'L' || fields[i + 1].charAt(0) == '[') {
                    found[count++] = offset;
                }
            }
            references = java.util.Arrays.copyOf(found, count);
            where = id >= 1 << 16 ? 0 : id;
            end = last;
            followed = type.getClassLoader() != null;
            mayBeShared = followed || type.isArray();
        }

        /** How much room an object takes. */
        long room(Object o) {
            if (!type.isArray()) {
                return o instanceof Class ? 16 + 8L * 1024 : 2 * end;
            }
            if (o instanceof byte[] || o instanceof boolean[]) {
                return HEADER + (long) smallLength(o);
            }
            long length = java.lang.reflect.Array.getLength(o);
            return HEADER + (o instanceof char[] || o instanceof short[] ? length << 1 : length << 3);
        }
    }

    /** The base of an object that this thread uses; 0 if it is this thread's own. */
    private static long touch(T t, Object o, long where) {
        if (where == 0) {
            return array(o);
        }
        long id = U.getLongVolatile(o, where);
        if (id == 0) {
            if (U.compareAndSetLong(o, where, 0, t.tag)) {
                return 0;
            }
            id = U.getLongVolatile(o, where);
        }
        if (id == t.tag) {
            return 0;
        }
        return (id & 1) == 0 && id != 0 ? id : share(t, o);
    }

    /** An object is stored where other threads can find it. */
    @DontInline
    private static void publish(Object o) {
        T t = t();
        if (t == null || t.busy) {
            return;
        }
        About about = About.of(t, o.getClass());
        if (about.where != 0) {
            long id = U.getLongVolatile(o, about.where);
            if (id == 0 || (id & 1) != 0) {
                share(t, o);
            }
        } else if (about.mayBeShared) {
            if (Shared.find(o, System.identityHashCode(o)) == 0) {
                share(t, o);
            }
        }
    }

    // For AtomvetCalls, whose calls are busy themselves.

    /** The base of an object of the JDK, or 0 if it is this thread's own. */
    static long baseUnlessOwn(T t, Object o) {
        boolean wasBusy = t.busy;
        t.busy = false;
        try {
            return array(o);
        } finally {
            t.busy = wasBusy;
        }
    }

    static void publishBusily(T t, Object o) {
        boolean wasBusy = t.busy;
        t.busy = false;
        try {
            publish(o);
        } finally {
            t.busy = wasBusy;
        }
    }

    static boolean isShared(Object o) {
        return Shared.find(o, System.identityHashCode(o)) != 0;
    }

    /** A variable that is no object's, with a name as if it were one of this class. */
    static long newVariable(int type) {
        long address = U.getAndAddLong(null, NEXT_BASE, 16);
        announce(address, type, 0);
        return address;
    }

    /** How many objects are followed from one that is published. */
    private static final int REACH = 1 << 18;

    /** Shares an object and what can be reached from it through references of application classes and arrays. */
    @DontInline
    static long share(T t, Object first) {
        boolean wasBusy = t.busy;
        t.busy = true;
        try {
            About about = About.ALL.get(first.getClass());
            long base = shareOne(first, about);
            if (base < 0) {
                return -base;
            }
            // All in here are shared; what they refer to may not be.
            Object[] open = t.open;
            int count = 1;
            open[0] = first;
            int budget = REACH;
            // Of what was looked at last: elements of an array are mostly of one class.
            About aboutNext = about;
            while (count > 0) {
                Object o = open[--count];
                open[count] = null;
                about = about.type == o.getClass() ? about : About.ALL.get(o.getClass());
                Object[] elements = o instanceof Object[] ? (Object[]) o : null;
                int references = elements != null ? elements.length : about.followed ? about.references.length : 0;
                for (int i = 0; i < references && budget > 0; i++) {
                    Object next = elements != null ? elements[i] : U.getReference(o, about.references[i]);
                    if (next == null || next instanceof String || next instanceof Class) {
                        continue;
                    }
                    Class<?> type = next.getClass();
                    if (aboutNext.type != type) {
                        aboutNext = About.ALL.get(type);
                    }
                    if (!aboutNext.mayBeShared || shareOne(next, aboutNext) < 0) {
                        continue;
                    }
                    budget--;
                    if (count == open.length) {
                        open = java.util.Arrays.copyOf(open, 2 * count);
                    }
                    open[count++] = next;
                }
            }
            if (budget == 0) {
                countUnfollowed();
            }
            return base;
        } finally {
            t.busy = wasBusy;
        }
    }

    /** Shares one object: its base, negative if it was shared already. */
    private static long shareOne(Object o, About about) {
        long where = about.where;
        if (where == 0) {
            int hash = System.identityHashCode(o);
            long base = Shared.find(o, hash);
            return base != 0 ? -base : Shared.add(o, hash, about);
        }
        long id = U.getLongVolatile(o, where);
        if (id == 0 || (id & 1) != 0) {
            long base = newBase(o, about);
            do {
                if (U.compareAndSetLong(o, where, id, base)) {
                    return base;
                }
                id = U.getLongVolatile(o, where);
            } while (id == 0 || (id & 1) != 0);
        }
        return -id;
    }

    private static long newBase(Object o, About about) {
        long room = about.room(o) + 15 & -16;
        long base = U.getAndAddLong(null, NEXT_BASE, room);
        if (o instanceof Class) {
            announce(base, About.ALL.get((Class<?>) o).number, 1);
        } else {
            announce(base, about.number, 0);
        }
        return base;
    }

    // Objects that have no number in them.

    /** Whose an object was when it was last seen, by identity hash code: that in the upper half, the thread's number below. */
    private static final int OWNERS_MASK = (1 << 20) - 1;
    private static final int SHARED = 0;
    /** How many shared ones a thread finds without a look at the tables, which are too large for a cache. */
    private static final int LATELY = 256;

    /** Where the owner of an object with this hash code is noted. */
    private static long owner(int hash) {
        return OWNERS + ((long) (hash & OWNERS_MASK) << 3);
    }

    private static long hashBits() {
        Object o = new Object();
        long before = U.getLong(o, 0L);
        int hash = System.identityHashCode(o);
        long after = U.getLong(o, 0L);
        for (int shift = 2; shift < 32; shift++) {
            long bits = 0x7fffffffL << shift;
            if ((before & bits) == 0 && (after & bits) == (long) hash << shift && (before & 3) == 1) {
                return bits | 3;
            }
        }
        return 0;
    }

    /** The base of an object without a number, or 0 if it is this thread's own. */
    private static long array(Object o) {
        int me = (int) U.getLong(Thread.currentThread(), TID);
        if (HASH_BITS != 0 && (U.getLong(o, 0L) & HASH_BITS) == 1) {
            claim(o, System.identityHashCode(o), me);
            return 0;
        }
        int hash = System.identityHashCode(o);
        T t = THREADS[me & THREADS.length - 1];
        int recent = hash & LATELY - 1;
        if (t != null) {
            Shared known = t.lately[recent];
            if (known != null && known.hash == hash && known.refersTo(o)) {
                return known.base;
            }
        }
        long owner = U.getLong(owner(hash));
        if (owner == ((long) hash << 32 | me)) {
            return 0;
        }
        Shared shared = Shared.entry(o, hash);
        if (shared != null) {
            if (t != null) {
                t.lately[recent] = shared;
            }
            return shared.base;
        }
        if (owner == 0) {
            claim(o, hash, me);
            return 0;
        }
        t = t();
        return t == null || t.busy ? 0 : share(t, o);
    }

    @DontInline
    private static void claim(Object o, int hash, int me) {
        U.putLong(owner(hash), (long) hash << 32 | me);
        U.fullFence();
        if (Shared.find(o, hash) != 0) {
            U.putLong(owner(hash), (long) hash << 32 | SHARED);
        }
    }

    /** Objects that are shared and have no number, by identity. */
    private static final class Shared extends WeakReference<Object> {
        final int hash;
        final long base;
        Shared next;

        private static volatile Shared[] table = new Shared[1 << 14];
        private static int count;
        private static final Object LOCK = new Object();

        private Shared(Object o, int hash, long base) {
            super(o);
            this.hash = hash;
            this.base = base;
        }

        static long find(Object o, int hash) {
            Shared entry = entry(o, hash);
            return entry == null ? 0 : entry.base;
        }

        static Shared entry(Object o, int hash) {
            Shared[] all = table;
            for (Shared one = all[hash & all.length - 1]; one != null; one = one.next) {
                if (one.hash == hash && one.refersTo(o)) {
                    return one;
                }
            }
            return null;
        }

        /** The base of an object; negative if another thread was faster. */
        static long add(Object o, int hash, About about) {
            synchronized (LOCK) {
                long there = find(o, hash);
                if (there != 0) {
                    return -there;
                }
                if (count >= table.length) {
                    sweep();
                }
                long base = newBase(o, about);
                Shared one = new Shared(o, hash, base);
                Shared[] all = table;
                one.next = all[hash & all.length - 1];
                U.storeFence();
                all[hash & all.length - 1] = one;
                count++;
                U.fullFence();
                if (U.getLong(owner(hash)) >>> 32 == hash) {
                    U.putLong(owner(hash), (long) hash << 32 | SHARED);
                }
                return base;
            }
        }

        /** Forgets objects that are gone, and makes room if that is not enough. */
        private static void sweep() {
            Shared[] old = table;
            int alive = 0;
            for (Shared head : old) {
                for (Shared one = head; one != null; one = one.next) {
                    alive += one.refersTo(null) ? 0 : 1;
                }
            }
            Shared[] all = new Shared[alive > old.length / 2 ? old.length * 2 : old.length];
            for (Shared head : old) {
                for (Shared one = head; one != null; one = one.next) {
                    Object o = one.get();
                    if (o != null) {
                        // A new entry, because others may follow the old one at this moment.
                        Shared copy = new Shared(o, one.hash, one.base);
                        copy.next = all[one.hash & all.length - 1];
                        all[one.hash & all.length - 1] = copy;
                    }
                }
            }
            count = alive;
            table = all;
        }
    }

    // Sites, when they are reached for the first time.

    /** Finds out where a field is. */
    private static long resolve(Object o, int site) {
        String[] field = fieldOf(site);
        About about = About.ALL.get(o.getClass());
        while (about != null && !about.type.getName().equals(field[0])) {
            about = about.parent;
        }
        if (about == null) {
            about = About.ALL.get(o.getClass());
        }
        long where = about.where;
        for (; about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                if (about.fields[i].equals(field[1]) && about.fields[i + 1].equals(field[2])) {
                    int modifiers = Integer.parseInt(about.fields[i + 2]);
                    long displacement = 2 * offset(about.type, field[1]);
                    if ((modifiers & 0x10) != 0 || displacement == 0 || displacement >= 1 << 24) {
                        return setSite(site, -1);
                    }
                    named(about.number, displacement, field[1], 0);
                    return setSite(site, displacement | where << 24 | (long) bytes(field[2]) << 40);
                }
            }
        }
        return setSite(site, -1);
    }

    /** The bytes of a field, of which there are twice as many as in the JVM, so that most fields have words of their own. */
    private static int bytes(String descriptor) {
        switch (descriptor.charAt(0)) {
            case 'B': case 'Z': return 0x3;
            case 'C': case 'S': return 0xf;
            default: return 0xff;
        }
    }

    private static long resolveStatic(int site) {
        T t = t();
        if (t == null || t.busy) {
            return -1;
        }
        t.busy = true;
        try {
            String[] field = fieldOf(site);
            ClassLoader loader = (ClassLoader) loaderOf(site);
            Class<?> type = loader == null
                ? ClassLoader.findBootstrapClassOrNull(field[0]) : loader.findLoadedClass(field[0]);
            return type == null ? setSite(site, -1) : resolveStatic(t, type, field, site);
        } finally {
            t.busy = false;
        }
    }

    /** A static field may be declared by a superclass or by an interface, where it is final. */
    private static long resolveStatic(T t, Class<?> type, String[] field, int site) {
        for (About about = About.ALL.get(type); about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                if (about.fields[i].equals(field[1]) && about.fields[i + 1].equals(field[2])) {
                    int modifiers = Integer.parseInt(about.fields[i + 2]);
                    if ((modifiers & 0x10) != 0 || i / 3 >= 1024) {
                        return setSite(site, -1);
                    }
                    long base = share(t, about.type);
                    long displacement = 16 + 8L * (i / 3);
                    named(about.number, displacement, field[1], 1);
                    return setSite(site, base + displacement);
                }
            }
        }
        return setSite(site, -1);
    }

    // For AtomvetFields.

    /** Names the field of a class's objects at an offset; its bytes, or 0 if it is final or there is none. */
    static int field(Class<?> type, long offset) {
        for (About about = About.ALL.get(type); about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                int modifiers = Integer.parseInt(about.fields[i + 2]);
                if ((modifiers & 8) == 0 && offset(about.type, about.fields[i]) == offset) {
                    named(about.number, 2 * offset, about.fields[i], 0);
                    return (modifiers & 0x10) != 0 ? 0 : bytes(about.fields[i + 1]);
                }
            }
        }
        return 0;
    }

    /** Names the static field at an offset; its address, or 0 if it is final or there is none. */
    static long staticField(T t, Class<?> type, long offset) {
        About about = About.ALL.get(type);
        for (int i = 0; i < about.fields.length && i / 3 < 1024; i += 3) {
            int modifiers = Integer.parseInt(about.fields[i + 2]);
            if ((modifiers & 8) != 0 && (modifiers & 0x10) == 0 && staticOffset(type, about.fields[i]) == offset) {
                long displacement = 16 + 8L * (i / 3);
                named(about.number, displacement, about.fields[i], 1);
                return share(t, type) + displacement;
            }
        }
        return 0;
    }

    private static long staticOffset(Class<?> type, String field) {
        try {
            return U.staticFieldOffset(type.getDeclaredField(field));
        } catch (Throwable none) {
            // Types of fields may be missing.
            return 0;
        }
    }

    private static long setSite(int site, long place) {
        U.putLong(SITES + ((long) site << 3), place);
        return place;
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
        fieldOf(0);
        loaderOf(0);
        About.ALL.get(Object[].class);
    }

    // The agent.

    private static native long constant(int which);
    private static native long attach(long thread, String name);
    private static native boolean isSilent();
    private static native long blocksOf(long recorder);
    private static native void countVirtual();
    private static native void countUnfollowed();
    private static native long access(
        long address, int bytes, int site, int writes, long blocks, int from, int to);
    private static native void tell(long blocks, int from, int to);
    private static native void leave(int depth);
    private static native void synchronise(int what, long base, int site);
    private static native void fork(long thread, String name, int site);
    private static native void join(long thread, int site);
    private static native void initialises(int isOver, int site);
    private static native int describe(Class<?> type, int parent);
    private static native String[] fields(Class<?> type);
    private static native void announce(long base, int type, int isClass);
    private static native void named(int type, long displacement, String field, int isStatic);
    private static native String[] fieldOf(int site);
    private static native Object loaderOf(int site);
}
