package java.lang;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import jdk.internal.misc.Unsafe;

/**
 * Synthetic addresses for objects that one thread is the first to use: next to each other, because it is mostly the same one that uses them.
 *
 * A stretch of addresses is used again when what it was for is gone, which the collector says (phantom references, because finalizers may
 * still use what weak ones take for gone). Objects with a field for it hold on to a room, which is for several of them, so that few references are needed. So
 * there are never many more addresses in use than for the objects that are alive, and garbage.
 */
final class AtomvetRooms {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Where the next stretch is: a word of the agent's. */
    private static final long NEXT = AtomvetHooks.constant(8);
    /** The class of each object, where its base is. */
    private static final long CLASSES = AtomvetHooks.constant(9);
    /** How many bytes a room has at least. An object that takes more than a part of that has one for itself. */
    private static final int SHIFT = 9;
    private static final long LARGE = (1 << SHIFT) / 4;
    /** How many bytes a stretch has at least. */
    private static final int LEAST = 4;

    /** What objects hold on to. */
    private static final class Room {}

    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();

    /** A stretch of 1 << shift addresses, as long as something is there. */
    static class Place extends PhantomReference<Object> {
        final AtomvetRooms owner;
        final long base;
        final int shift;
        /** Those of rooms are in a ring; the next one of those that are free. */
        private Place before;
        private Place next;

        Place(Object what, AtomvetRooms owner, int shift, int type) {
            super(what, GONE);
            this.owner = owner;
            this.shift = shift;
            this.base = owner == null ? 0 : owner.find(shift);
            if (owner != null) {
                U.putInt(CLASSES + base, type);
            }
        }
    }

    /** Guards this class and AtomvetUnnumbered. */
    static final Object LOCK = new Object();
    private static final Place ALL = new Place(null, null, 0, 0);

    static {
        ALL.before = ALL;
        ALL.next = ALL;
    }

    /** What all threads have left that are gone. */
    private static final AtomvetRooms ORPHANS = new AtomvetRooms(null);

    private final AtomvetHooks.T owner;
    private boolean isOver;
    /** Stretches that are free, by size: the shadow of this thread is there. */
    private final Place[] free = new Place[64];
    private Object room;
    private long next;
    private long end;
    /** The room of what was taken last. */
    private Object taken;

    AtomvetRooms(AtomvetHooks.T owner) {
        this.owner = owner;
    }

    static int shift(long bytes) {
        return Math.max(LEAST, 64 - Long.numberOfLeadingZeros(bytes - 1));
    }

    /** So many bytes that no object has, for one of this class. It has to hold on to room(). */
    long take(long bytes, int type) {
        if (bytes > LARGE) {
            taken = new Room();
            return newRoom(taken, shift(bytes), type);
        }
        if (end - next < bytes) {
            room = new Room();
            next = newRoom(room, SHIFT, type);
            end = next + (1 << SHIFT);
        }
        taken = room;
        long base = next;
        next = base + bytes;
        U.putInt(CLASSES + base, type);
        return base;
    }

    /** What an object has to hold on to whose base was taken last. */
    Object room() {
        return taken;
    }

    private long newRoom(Object room, int shift, int type) {
        Place place = new Place(room, this, shift, type);
        synchronized (LOCK) {
            place.before = ALL;
            place.next = ALL.next;
            place.next.before = place;
            ALL.next = place;
        }
        return place.base;
    }

    /** A stretch that is free. */
    private long find(int shift) {
        boolean wasBusy = owner.busy;
        owner.busy = true;
        try {
            synchronized (LOCK) {
                for (Reference<?> gone = GONE.poll(); gone != null; gone = GONE.poll()) {
                    vacate((Place) gone);
                }
                AtomvetRooms from = free[shift] != null ? this : ORPHANS;
                Place place = from.free[shift];
                if (place != null) {
                    from.free[shift] = place.next;
                    return place.base;
                }
            }
            return U.getAndAddLong(null, NEXT, 1L << shift);
        } finally {
            owner.busy = wasBusy;
        }
    }

    private static void vacate(Place place) {
        if (place instanceof AtomvetUnnumbered.Entry) {
            AtomvetUnnumbered.remove((AtomvetUnnumbered.Entry) place);
        } else {
            place.before.next = place.next;
            place.next.before = place.before;
        }
        for (long at = 0; at < (place.shift == SHIFT ? 1 << SHIFT : 8); at += 8) {
            U.putLong(CLASSES + place.base + at, 0);
        }
        AtomvetHooks.newLife(place.base, 1L << place.shift);
        (place.owner.isOver ? ORPHANS : place.owner).put(place);
    }

    private void put(Place place) {
        place.next = free[place.shift];
        free[place.shift] = place;
    }

    /** The thread ends. */
    void end() {
        synchronized (LOCK) {
            isOver = true;
            for (Place first : free) {
                for (Place place = first, next; place != null; place = next) {
                    next = place.next;
                    ORPHANS.put(place);
                }
            }
        }
    }
}
