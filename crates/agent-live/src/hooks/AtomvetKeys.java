package java.lang;

import jdk.internal.misc.Unsafe;

/** Variables for the entries of one map: one for each hash code of a key. They are there as long as the map is. */
final class AtomvetKeys {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Beyond so many, keys are not told apart any more and nothing is checked, which is said. */
    private static final int MOST = 1 << 22;

    /** Pairs of a hash code, with 1 above it, and an address. */
    private volatile long[] table = new long[16];
    private int count;
    /** What holds on to the addresses. */
    private Object[] rooms = new Object[1];
    private int roomCount;

    private AtomvetKeys() {}

    /** The variable of an entry; 0 if there is none. */
    static long of(Object map, long base, Object key) {
        int hash;
        try {
            hash = key.hashCode();
        } catch (Throwable thrown) {
            // The map will find out by itself.
            return 0;
        }
        AtomvetHooks.T t = AtomvetHooks.t();
        AtomvetKeys keys = of(AtomvetUnnumbered.entry(t, map));
        long id = hash & 0xffffffffL | 1L << 32;
        long address = find(keys.table, id);
        return address != 0 ? address : keys.add(t, map, id, key);
    }

    private static AtomvetKeys of(AtomvetUnnumbered.Entry entry) {
        if (entry.keys == null) {
            synchronized (entry) {
                if (entry.keys == null) {
                    AtomvetKeys keys = new AtomvetKeys();
                    U.storeFence();
                    entry.keys = keys;
                }
            }
        }
        return entry.keys;
    }

    private static int first(long[] all, long id) {
        return (int) (id * 0x9e3779b97f4a7c15L >>> 33) & all.length / 2 - 1;
    }

    private static long find(long[] all, long id) {
        for (int at = first(all, id);; at = at + 1 & all.length / 2 - 1) {
            long there = all[2 * at];
            if (there == id) {
                U.loadFence();
                return all[2 * at + 1];
            }
            if (there == 0) {
                return 0;
            }
        }
    }

    private synchronized long add(AtomvetHooks.T t, Object map, long id, Object key) {
        long[] all = table;
        long address = find(all, id);
        if (address != 0) {
            return address;
        }
        if (count == MOST) {
            AtomvetHooks.unwatched("maps with more than four million keys");
            return 0;
        }
        if (count * 4 >= all.length) {
            long[] larger = new long[2 * all.length];
            for (int i = 0; i < all.length; i += 2) {
                if (all[i] != 0) {
                    put(larger, all[i], all[i + 1]);
                }
            }
            table = all = larger;
        }
        address = t.rooms.take(4, AtomvetHooks.describeKey(map.getClass(), text(key)));
        Object room = t.rooms.room();
        if (roomCount == 0 || rooms[roomCount - 1] != room) {
            if (roomCount == rooms.length) {
                rooms = java.util.Arrays.copyOf(rooms, 2 * roomCount);
            }
            rooms[roomCount++] = room;
        }
        put(all, id, address);
        count++;
        return address;
    }

    private static void put(long[] all, long id, long address) {
        int at = first(all, id);
        while (all[2 * at] != 0) {
            at = at + 1 & all.length / 2 - 1;
        }
        all[2 * at + 1] = address;
        U.storeFence();
        all[2 * at] = id;
    }

    /** The key, if it can be shown without calling anything of the program's. */
    private static String text(Object key) {
        if (key instanceof String || key instanceof Number && key.getClass().getClassLoader() == null) {
            return key.toString();
        }
        return key instanceof Enum ? ((Enum<?>) key).name() : key.getClass().getName();
    }
}
