package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/** The bases of objects that have no field for one: arrays, and objects of the JDK. They are found by their identity. */
final class AtomvetUnnumbered {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** How many a thread finds without a look at the table, which is too large for a cache. */
    static final int LATELY = 4096;

    /** An object and its base. */
    static final class Entry extends AtomvetRooms.Place {
        final int hash;
        private Entry chain;
        /** Of a map: the variables of its entries. */
        AtomvetKeys keys;

        Entry(AtomvetHooks.T t, Object o, int hash, long bytes, int type) {
            super(o, t.rooms, AtomvetRooms.shift(bytes), type);
            this.hash = hash;
        }
    }

    private static volatile Entry[] table = new Entry[1 << 14];
    private static int count;

    private AtomvetUnnumbered() {}

    static long base(AtomvetHooks.T t, Object o) {
        return entry(t, o).base;
    }

    static Entry entry(AtomvetHooks.T t, Object o) {
        int hash = System.identityHashCode(o);
        Entry known = t.lately[hash & LATELY - 1];
        return known != null && known.hash == hash && known.refersTo(o) ? known : find(t, o, hash);
    }

    @DontInline
    private static Entry find(AtomvetHooks.T t, Object o, int hash) {
        Entry known = entry(o, hash);
        if (known == null) {
            // This may take a while.
            AtomvetHooks.finish(t);
            known = add(t, o, hash);
        }
        t.lately[hash & LATELY - 1] = known;
        return known;
    }

    static boolean hasBase(Object o) {
        return entry(o, System.identityHashCode(o)) != null;
    }

    /** The entry of an object. It may be overlooked while the table changes, but not by who holds the lock. */
    private static Entry entry(Object o, int hash) {
        Entry[] all = table;
        for (Entry one = all[hash & all.length - 1]; one != null; one = one.chain) {
            if (one.hash == hash && one.refersTo(o)) {
                return one;
            }
        }
        return null;
    }

    private static Entry add(AtomvetHooks.T t, Object o, int hash) {
        AtomvetObjects.About about = AtomvetObjects.About.of(t, o);
        synchronized (AtomvetRooms.LOCK) {
            Entry known = entry(o, hash);
            if (known != null) {
                return known;
            }
            if (count >= table.length) {
                grow();
            }
            Entry one = new Entry(t, o, hash, about.room(o), about.number);
            insert(table, one);
            count++;
            return one;
        }
    }

    /** The object of an entry is gone. */
    static void remove(Entry gone) {
        synchronized (AtomvetRooms.LOCK) {
            Entry[] all = table;
            int at = gone.hash & all.length - 1;
            if (all[at] == gone) {
                all[at] = gone.chain;
            } else {
                Entry before = all[at];
                while (before.chain != gone) {
                    before = before.chain;
                }
                before.chain = gone.chain;
            }
            count--;
        }
    }

    private static void grow() {
        Entry[] all = new Entry[2 * table.length];
        for (Entry head : table) {
            for (Entry one = head, next; one != null; one = next) {
                next = one.chain;
                insert(all, one);
            }
        }
        table = all;
    }

    private static void insert(Entry[] all, Entry one) {
        int at = one.hash & all.length - 1;
        one.chain = all[at];
        U.storeFence();
        all[at] = one;
    }
}
