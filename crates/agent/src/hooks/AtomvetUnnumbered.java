package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Objects that have no number in them: arrays, and objects of the JDK. Whose they are is known by their identity.
 *
 * A table of words, OWNERS, has what a number would tell, up to a base. It may forget, and then the object counts as one that has a base.
 * Those are in another table, Shared, which forgets none, and has the numbers that OWNERS tells of what has settled.
 */
final class AtomvetUnnumbered {
    private static final Unsafe U = Unsafe.getUnsafe();

    /**
     * A word for every hash code, or rather for its lower bits: in the upper half the hash code of the object that it is about, below it the
     * number of the thread whose it is, with a bit if that has published it, or one of those below.
     */
    private static final long OWNERS = AtomvetHooks.constant(2);
    private static final int OWNERS_MASK = (int) AtomvetHooks.constant(6) / 8 - 1;
    private static final int PUBLISHED = 1 << 30;
    private static final int ONLY_READ = 1 << 29;
    private static final int HAS_BASE = 0;

    /** How many with a base a thread finds without a look at the tables, which are too large for a cache. */
    static final int LATELY = 2048;

    /** Which bits of an object's first word are its identity hash code, and which say that it is not locked. */
    private static final long HASH_BITS = hashBits();
    private static final int HASH_SHIFT = Long.numberOfTrailingZeros(HASH_BITS & ~3);

    private AtomvetUnnumbered() {}

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

    /** Where the word for this hash code is. */
    private static long owner(int hash) {
        return OWNERS + ((long) (hash & OWNERS_MASK) << 3);
    }

    private static boolean isAbout(long word, int hash) {
        return (int) (word >>> 32) == hash;
    }

    /** The number of a thread, as far as there is room for it. */
    private static int number(Thread thread) {
        return (int) Math.min(U.getLong(thread, AtomvetHooks.TID), ONLY_READ - 1);
    }

    /** As touch() of AtomvetObjects. */
    static long touch(Object o, int access) {
        int me = number(Thread.currentThread());
        long first = U.getLong(o, 0L);
        int hash = HASH_BITS != 0 && (first & 3) == 1
            ? (int) ((first & HASH_BITS) >>> HASH_SHIFT) : System.identityHashCode(o);
        if (hash == 0) {
            // Nobody has looked at it so far. If two do at this moment, one may believe for long that it is its own: that is a race, of plain accesses.
            hash = System.identityHashCode(o);
            U.putLong(owner(hash), (long) hash << 32 | me);
            if (access == AtomvetSettled.ATOMIC) {
                note(o, hash, me);
            }
            return 0;
        }
        long word = U.getLong(owner(hash));
        if (isAbout(word, hash)) {
            int state = (int) word;
            if (state == me) {
                return 0;
            }
            if (access != AtomvetSettled.ATOMIC
                    && (state == (me | PUBLISHED) || state == ONLY_READ && access == AtomvetSettled.READ)) {
                return AtomvetSettled.SETTLED;
            }
        }
        return touchOther(o, hash, word, me, access);
    }

    /** One that this thread does not have to itself, as far as OWNERS knows. */
    private static long touchOther(Object o, int hash, long word, int me, int access) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null) {
            return 0;
        }
        Shared shared = lately(t, o, hash);
        if (shared == null) {
            shared = Shared.entry(o, hash);
            if (shared == null) {
                return touchFirst(t, o, hash, word, me, access);
            }
            remember(t, shared);
        }
        return shared.id == shared.base ? shared.base : settled(t, o, shared, access);
    }

    /** One that has no base. */
    @DontInline
    private static long touchFirst(AtomvetHooks.T t, Object o, int hash, long word, int me, int access) {
        if (word == 0) {
            note(o, hash, me);
            return 0;
        }
        if (t.busy) {
            return 0;
        }
        AtomvetObjects.About about = AtomvetObjects.About.of(t, o);
        if (isAbout(word, hash) && about.type.isArray() && access != AtomvetSettled.ATOMIC) {
            // Of another thread's, or it was only read.
            boolean isRead = access == AtomvetSettled.READ && (int) word != HAS_BASE && AtomvetSettled.mayBegin(t, about);
            if (isRead && U.compareAndSetLong(null, owner(hash), word, (long) hash << 32 | ONLY_READ)) {
                about.met++;
                if (((int) word & PUBLISHED) == 0) {
                    AtomvetHooks.finish(t);
                    AtomvetObjects.shareContents(t, o);
                }
                return AtomvetSettled.SETTLED;
            }
            about.metInVain++;
        }
        return Shared.make(t, o, hash).base;
    }

    @DontInline
    private static long settled(AtomvetHooks.T t, Object o, Shared shared, int access) {
        long id = shared.id;
        if (AtomvetSettled.is(id)) {
            if (AtomvetSettled.allows(id, access)) {
                // OWNERS has forgotten it. Where many take turns, one of them is better left there.
                if ((++t.misses & 7) == 0) {
                    shared.tell(id);
                }
                return AtomvetSettled.SETTLED;
            }
            if (!t.busy) {
                AtomvetSettled.disturb(t, o, id, access, 0);
            }
        }
        return shared.base;
    }

    /** Shares an object, which has settled or gets a base; false if it is shared already. */
    static boolean share(AtomvetHooks.T t, Object o, AtomvetObjects.About about, boolean settles) {
        int hash = System.identityHashCode(o);
        if (!settles || !about.type.isArray()) {
            return Shared.entry(o, hash) == null && Shared.add(t, o, hash, about);
        }
        long word = U.getLong(owner(hash));
        int state = isAbout(word, hash) ? (int) word : number(t.thread);
        boolean isShared = state == HAS_BASE || (state & (PUBLISHED | ONLY_READ)) != 0;
        if (isShared || Shared.mayHave(hash) && Shared.entry(o, hash) != null) {
            return false;
        }
        note(o, hash, state | PUBLISHED);
        return true;
    }

    /** Notes whose an object is that has no base. */
    @DontInline
    private static void note(Object o, int hash, int state) {
        U.putLong(owner(hash), (long) hash << 32 | state);
        U.fullFence();
        if (Shared.mayHave(hash) && Shared.entry(o, hash) != null) {
            U.putLong(owner(hash), (long) hash << 32 | HAS_BASE);
        }
    }

    static boolean hasBase(Object o) {
        return Shared.entry(o, System.identityHashCode(o)) != null;
    }

    /** The entry of an object that this thread has used lately, if there is one. */
    private static Shared lately(AtomvetHooks.T t, Object o, int hash) {
        int at = hash & LATELY - 1;
        if (t.latelyHashes[at] != hash || t.sweeps != Shared.sweeps) {
            return null;
        }
        Shared known = t.lately[at];
        return known != null && known.refersTo(o) ? known : null;
    }

    private static Shared remember(AtomvetHooks.T t, Shared shared) {
        if (t.sweeps != Shared.sweeps) {
            // Those from before are not what they were any more.
            t.sweeps = Shared.sweeps;
            java.util.Arrays.fill(t.lately, null);
            return shared;
        }
        int at = shared.hash & LATELY - 1;
        // Where many take turns it is better to keep one of them, and every change is work for the collector.
        if (t.lately[at] == null || (++t.misses & 3) == 0) {
            t.latelyHashes[at] = shared.hash;
            t.lately[at] = shared;
        }
        return shared;
    }

    /** Those that are shared and have a base, by identity. */
    static final class Shared extends WeakReference<Object> {
        final int hash;
        final long base;
        /** Where the base will be used again; null if it will not. */
        private final AtomvetBases bases;
        /** The base, unless it has settled. */
        volatile long id;
        Shared next;

        private static volatile Shared[] table = new Shared[1 << 14];
        /** A bit for every hash code in the table, or rather for its lower bits: small enough for a cache, which the table is not. */
        private static volatile long[] marks = new long[1 << 15];
        private static int count;
        /** How often there were new entries for all. */
        static volatile int sweeps;
        private static final Object LOCK = new Object();

        private Shared(Object o, int hash, long base, AtomvetBases bases) {
            super(o);
            this.hash = hash;
            this.base = base;
            this.bases = bases;
            this.id = base;
        }

        /** False if no object with this hash code is shared. */
        static boolean mayHave(int hash) {
            long[] all = marks;
            return (all[hash >>> 6 & all.length - 1] >>> hash & 1) != 0;
        }

        private static void mark(long[] all, int hash) {
            all[hash >>> 6 & all.length - 1] |= 1L << hash;
        }

        /** The entry of an object, which is shared from now on. */
        static Shared of(AtomvetHooks.T t, Object o) {
            int hash = System.identityHashCode(o);
            Shared known = lately(t, o, hash);
            if (known != null) {
                return known;
            }
            known = entry(o, hash);
            return known != null ? remember(t, known) : make(t, o, hash);
        }

        @DontInline
        private static Shared make(AtomvetHooks.T t, Object o, int hash) {
            // This may take a while.
            AtomvetHooks.finish(t);
            if (add(t, o, hash, AtomvetObjects.About.of(t, o))) {
                AtomvetObjects.shareContents(t, o);
            }
            return entry(o, hash);
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

        /** Adds an object; false if another thread was faster. */
        @DontInline
        static boolean add(AtomvetHooks.T t, Object o, int hash, AtomvetObjects.About about) {
            synchronized (LOCK) {
                if (entry(o, hash) != null) {
                    return false;
                }
                if (count >= table.length) {
                    sweep();
                }
                Shared one = new Shared(o, hash, AtomvetObjects.newBase(t, o, about), about.bases(about.room(o)));
                Shared[] all = table;
                one.next = all[hash & all.length - 1];
                mark(marks, hash);
                U.storeFence();
                all[hash & all.length - 1] = one;
                count++;
                U.fullFence();
                if (isAbout(U.getLong(owner(hash)), hash)) {
                    U.putLong(owner(hash), (long) hash << 32 | HAS_BASE);
                }
                return true;
            }
        }

        static boolean change(Object o, long from, long to) {
            synchronized (LOCK) {
                Shared entry = entry(o, System.identityHashCode(o));
                boolean is = entry != null && entry.id == from;
                if (is) {
                    entry.id = to;
                    entry.tell(to);
                }
                return is;
            }
        }

        /** What OWNERS is to know of an entry with this number. */
        private void tell(long number) {
            int state = HAS_BASE;
            if (AtomvetSettled.is(number)) {
                state = AtomvetSettled.isOnlyRead(number) ? ONLY_READ : (int) AtomvetSettled.owner(number) | PUBLISHED;
            } else if (!isAbout(U.getLong(owner(hash)), hash)) {
                return;
            }
            U.putLong(owner(hash), (long) hash << 32 | state);
            U.fullFence();
            if (state != HAS_BASE && id != number) {
                // Somebody has disturbed it at this moment, and may not have seen this.
                U.putLong(owner(hash), (long) hash << 32 | HAS_BASE);
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
            long[] marked = new long[marks.length];
            Shared[] gone = new Shared[count];
            int gones = 0;
            for (Shared head : old) {
                for (Shared one = head; one != null; one = one.next) {
                    Object o = one.get();
                    if (o != null) {
                        // A new entry, because others may follow the old one at this moment. That does not stay settled.
                        Shared copy = new Shared(o, one.hash, one.base, one.bases);
                        copy.id = one.id;
                        one.id = one.base;
                        copy.next = all[one.hash & all.length - 1];
                        all[one.hash & all.length - 1] = copy;
                        mark(marked, one.hash);
                    } else if (one.bases != null) {
                        gone[gones++] = one;
                    }
                }
            }
            count = alive;
            marks = marked;
            table = all;
            sweeps++;
            // Last: should there be no memory or stack left, they must not be found again.
            while (gones > 0) {
                Shared one = gone[--gones];
                one.bases.vacate(one.base);
            }
        }
    }
}
