package java.lang;

import jdk.internal.misc.Unsafe;

/** Synthetic addresses for objects that one thread is the first to use: next to each other, because it is mostly the same one that uses them. */
final class AtomvetRooms {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Where the next room is: a word of the agent's. */
    private static final long NEXT = AtomvetHooks.constant(8);
    /** What a thread gets at once. */
    private static final long ROOM = 1 << 13;

    private long next;
    private long end;

    /** So many bytes that no object has had. */
    long take(long bytes) {
        if (bytes > ROOM / 8) {
            return U.getAndAddLong(null, NEXT, bytes);
        }
        if (end - next < bytes) {
            next = U.getAndAddLong(null, NEXT, ROOM);
            end = next + ROOM;
        }
        long base = next;
        next = base + bytes;
        return base;
    }
}
