package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/** The bases of objects that have no field for one: arrays, and objects of the JDK. They are found by their identity. */
final class AtomvetUnnumbered {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** How many a thread finds without a look at the table, which is too large for a cache. */
    static final int LATELY = 1024;

    /** An object and its base. */
    static final class Entry extends WeakReference<Object> {
        final int hash;
        final long base;
        Entry next;

        Entry(Object o, int hash, long base) {
            super(o);
            this.hash = hash;
            this.base = base;
        }
    }

    private static volatile Entry[] table = new Entry[1 << 14];
    private static int count;

    private AtomvetUnnumbered() {}

    static long base(AtomvetHooks.T t, Object o) {
        int hash = System.identityHashCode(o);
        Entry known = t.lately[hash & LATELY - 1];
        return known != null && known.hash == hash && known.refersTo(o) ? known.base : find(t, o, hash);
    }

    @DontInline
    private static long find(AtomvetHooks.T t, Object o, int hash) {
        Entry known = entry(o, hash);
        if (known == null) {
            // This may take a while.
            AtomvetHooks.finish(t);
            known = add(t, o, hash);
        }
        t.lately[hash & LATELY - 1] = known;
        return known.base;
    }

    static boolean hasBase(Object o) {
        return entry(o, System.identityHashCode(o)) != null;
    }

    /** The entry of an object. It may be overlooked while the table changes, but not by who holds the lock. */
    private static Entry entry(Object o, int hash) {
        Entry[] all = table;
        for (Entry one = all[hash & all.length - 1]; one != null; one = one.next) {
            if (one.hash == hash && one.refersTo(o)) {
                return one;
            }
        }
        return null;
    }

    private static Entry add(AtomvetHooks.T t, Object o, int hash) {
        AtomvetObjects.About about = AtomvetObjects.About.of(t, o);
        synchronized (AtomvetUnnumbered.class) {
            Entry known = entry(o, hash);
            if (known != null) {
                return known;
            }
            if (count >= table.length) {
                sweep();
            }
            Entry one = new Entry(o, hash, t.rooms.take(about.room(o)));
            insert(table, one);
            count++;
            return one;
        }
    }

    private static void insert(Entry[] all, Entry one) {
        int at = one.hash & all.length - 1;
        one.next = all[at];
        U.storeFence();
        all[at] = one;
    }

    /** Forgets objects that are gone, and makes room if that is not enough. */
    private static void sweep() {
        Entry[] old = table;
        int alive = 0;
        for (Entry head : old) {
            for (Entry one = head; one != null; one = one.next) {
                alive += one.refersTo(null) ? 0 : 1;
            }
        }
        Entry[] all = new Entry[alive > old.length / 2 ? old.length * 2 : old.length];
        for (Entry head : old) {
            for (Entry one = head, next; one != null; one = next) {
                next = one.next;
                if (!one.refersTo(null)) {
                    insert(all, one);
                }
            }
        }
        count = alive;
        table = all;
    }
}
