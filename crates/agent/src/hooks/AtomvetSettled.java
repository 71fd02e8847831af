package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Shared objects that have settled: one thread alone has used them, or all have only read them. Until somebody does otherwise, the filter need
 * not hear of plain accesses to them. Whoever comes after one of those comes after it by a lock or the like, which is on record;
 * only in a data race may an order be lost.
 *
 * Once a thread has made enough accesses for reports about small programs to be whole, what it shares has settled from the start. Others
 * settle when nobody has done otherwise for long.
 *
 * The number of such an object is SETTLED, its base, if it has one by now, and above that the number of the thread, or 0 if it is only read.
 */
final class AtomvetSettled {
    private static final Unsafe U = Unsafe.getUnsafe();

    static final long SETTLED = 1;
    static final long OWN = 3;
    static final int OWNER_SHIFT = 43;
    private static final long OWNER = -1L << OWNER_SHIFT;
    private static final long BASE = (1L << OWNER_SHIFT) - 16;
    /** The first thread whose number has no room there. */
    private static final long THREADS = 1L << 64 - OWNER_SHIFT;

    /** How an object is accessed. Atomic accesses are told to the filter in any case. */
    static final int READ = 0;
    static final int WRITE = 1;
    static final int ATOMIC = 2;

    /** Of the accesses that the filter hears of, one in 64 is looked at, and not always the same in a loop. */
    private static final long SPREAD = 0x9e3779b97f4a7c15L;
    private static final int RARELY = 64 - 6;
    /** How many looks at an object it takes, and how many accesses of its thread before any. */
    private static final int LOOKS = 4;
    private static final long PATIENCE = AtomvetHooks.constant(73);
    /** Objects that one thread has lately looked at, by base. */
    static final int CANDIDATES = 1024;
    /** If it does not settle then, it takes so many more before the next time. */
    private static final int LATER = 32;
    /** Larger objects stay as they are: it would take long to find out who has used them. */
    private static final long LARGE = 1 << 12;
    /** If so many of a class were disturbed that had settled in one way, and a quarter of all, the others are better left alone. */
    private static final int DISTURBANCES = 16;

    /** Of a class with contended fields so many objects are followed from the start, and then one of some. */
    private static final int BEGINNERS = 1024;
    private static final int BEGINNERS_OF = 32;

    private AtomvetSettled() {}

    static boolean is(long number) {
        return (number & 3) == SETTLED;
    }

    /** The base of an object that is shared, settled or not. */
    static long base(long number) {
        return number & BASE;
    }

    /** The thread that alone has used a settled object; 0 if all have only read it. */
    static long owner(long number) {
        return number >>> OWNER_SHIFT;
    }

    /** Whether it is the number of an object that all have only read. */
    static boolean isOnlyRead(long number) {
        return (number & (OWNER | 3)) == SETTLED;
    }

    /** Whether the filter need not hear of an access of this thread to a settled object. */
    static boolean allows(long number, int access) {
        long owner = number >>> OWNER_SHIFT;
        return owner == 0 ? access == READ
            : access != ATOMIC && owner == U.getLong(Thread.currentThread(), AtomvetHooks.TID);
    }

    /** Whether it is time to look at the object that is being accessed. */
    static boolean isTime(AtomvetHooks.T t) {
        return U.getLong(t.recorder + AtomvetHooks.SEEN) * SPREAD >>> RARELY == 0;
    }

    /** Looks at an object with a base, or at a static field with a word of a site. */
    @DontInline
    static void lookAt(AtomvetHooks.T t, Object o, long base) {
        if (t.busy || U.getLong(t.recorder + AtomvetHooks.SEEN) < PATIENCE) {
            return;
        }
        // This may take a while.
        AtomvetHooks.finish(t);
        // Bases of arrays are multiples of large numbers.
        int at = (int) (base * SPREAD >>> 48) & CANDIDATES - 1;
        if (t.candidates[at] != base) {
            t.candidates[at] = base;
            t.looks[at] = 1;
        } else if (++t.looks[at] >= LOOKS) {
            t.looks[at] = -LATER;
            if (o != null) {
                settle(t, o, base, at);
            } else {
                settleStatic(t, base, at);
            }
        }
    }

    private static void settle(AtomvetHooks.T t, Object o, long base, int at) {
        AtomvetObjects.About about = AtomvetObjects.About.of(t, o);
        long room = about.room(o);
        long thread = U.getLong(t.thread, AtomvetHooks.TID);
        if (room > LARGE || thread >= THREADS) {
            return;
        }
        long company = company(base, room);
        long written = company & ~ALONE;
        boolean isAlone = company != written && isWorthIt(about.alone, about.aloneInVain);
        if (!isAlone && (written != 0 && written != t.written[at] || !isWorthIt(about.read, about.readInVain))) {
            // Nobody may have written to it by the next time.
            t.written[at] = written;
            return;
        }
        long settled = (isAlone ? thread << OWNER_SHIFT : 0) | base | SETTLED;
        if (AtomvetObjects.change(o, about, base, settled)) {
            if (isAlone) {
                about.alone++;
            } else {
                about.read++;
            }
            // Who has come in between did not see it yet. Who is still to come with the old number sees it the next time.
            long now = company(base, room);
            if (isAlone ? (now & ALONE) == 0 : (now & ~ALONE) != written) {
                AtomvetObjects.change(o, about, settled, base);
            }
        }
    }

    private static void settleStatic(AtomvetHooks.T t, long place, int at) {
        long address = AtomvetStatics.address(place);
        long written = company(address, Long.BYTES) & ~ALONE;
        if (written != 0 && written != t.written[at]) {
            t.written[at] = written;
            return;
        }
        AtomvetStatics.settle(place);
        if ((company(address, Long.BYTES) & ~ALONE) != written) {
            AtomvetStatics.disturb(place);
        }
    }

    private static boolean isWorthIt(int settled, int inVain) {
        return inVain < Math.max(DISTURBANCES, settled / 4);
    }

    /** Whether shared objects of a class have settled from the start. */
    static boolean mayBegin(AtomvetHooks.T t, AtomvetObjects.About about) {
        return U.getLong(t.recorder + AtomvetHooks.SEEN) >= PATIENCE && isWorthIt(about.met, about.metInVain);
    }

    /**
     * The number of a shared object that was a thread's own, as its tag tells. If threads contend for a field of it, its first thread may be one, and
     * that is followed from the start in many objects, though not in all of a program that has very many.
     */
    static long begin(AtomvetObjects.About about, long tag) {
        boolean isTold = (tag & ~OWNER) == OWN;
        boolean isFollowed = about.isContended() && (about.begun++ < BEGINNERS || about.begun % BEGINNERS_OF == 0);
        return isTold && !isFollowed ? tag ^ (OWN ^ SETTLED) : SETTLED;
    }

    /** Somebody does otherwise, or comes to another thread's own object. What was stored in it meanwhile is everybody's from now on. */
    @DontInline
    static void disturb(AtomvetHooks.T t, Object o, long number, int access, int site) {
        // This may take a while.
        AtomvetHooks.finish(t);
        AtomvetObjects.About about = AtomvetObjects.About.of(t, o);
        boolean wasAlone = !is(number) || number >>> OWNER_SHIFT != 0;
        long base = is(number) ? base(number) : 0;
        if (base == 0 && wasAlone && access == READ && mayBegin(t, about)) {
            if (AtomvetObjects.change(o, about, number, SETTLED)) {
                about.met++;
                shareContents(t, o, number);
            }
            return;
        }
        if (AtomvetObjects.change(o, about, number, base != 0 ? base : AtomvetObjects.newBase(t, o, about))) {
            if (access == WRITE) {
                AtomvetContended.disturb(site, about.met);
            }
            if (base != 0 && wasAlone) {
                about.aloneInVain++;
            } else if (base != 0) {
                about.readInVain++;
            }
            shareContents(t, o, number);
        }
    }

    /** What was in another thread's own object is shared with it. What is in others is so already. */
    private static void shareContents(AtomvetHooks.T t, Object o, long number) {
        if (!is(number)) {
            AtomvetObjects.shareContents(t, o);
        }
    }

    /** Nobody else has accessed some memory. */
    private static final long ALONE = 1;

    /** ALONE or not, and a number that changes when somebody has written to this memory, 0 before. See planes.rs. */
    static native long company(long base, long bytes);
}
