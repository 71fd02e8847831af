package java.lang;

import jdk.internal.misc.Unsafe;

/** Variables for entries of maps: one for each map and hash code. */
final class AtomvetKeys {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Beyond so many, keys are not told apart any more and nothing is recorded. */
    private static final int MOST = 1 << 20;
    /** Pairs of what identifies an entry and its address. */
    private static volatile long[] table = new long[1 << 12];
    private static int count;

    static long of(Object map, long base, Object key) {
        int hash;
        try {
            hash = key.hashCode();
        } catch (Throwable thrown) {
            // The map will find out by itself.
            return 0;
        }
        long id = base << 29 ^ (hash & 0xffffffffL) * 0x9e3779b97f4a7c15L | 1;
        long address = find(table, id);
        return address != 0 ? address : add(map, id, key);
    }

    private static long find(long[] all, long id) {
        int mask = all.length / 2 - 1;
        for (int at = (int) (id >>> 32) & mask;; at = at + 1 & mask) {
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

    private static synchronized long add(Object map, long id, Object key) {
        long[] all = table;
        long address = find(all, id);
        if (address != 0 || count == MOST) {
            return address;
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
        address = AtomvetObjects.newVariable(describeKey(map.getClass(), text(key)));
        put(all, id, address);
        count++;
        return address;
    }

    private static void put(long[] all, long id, long address) {
        int mask = all.length / 2 - 1;
        int at = (int) (id >>> 32) & mask;
        while (all[2 * at] != 0) {
            at = at + 1 & mask;
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

    private static native int describeKey(Class<?> map, String key);
}
