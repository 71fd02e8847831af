package java.lang;

import java.lang.ref.PhantomReference;
import java.lang.ref.WeakReference;

/**
 * The bases of objects of one class and size. Where an object was that is gone, another one will be: so what is known about objects, in
 * the filter and by the command, does not become more and more while the program makes new ones.
 *
 * Objects that have a number in them are followed by phantom references, because finalizers may still use what weak ones take for gone. Those
 * are looked through when there are twice as many as last time. Of others AtomvetUnnumbered tells when they are gone.
 */
final class AtomvetBases {
    /** How many objects there are before any is looked for. */
    private static final int ENOUGH = 1024;

    /** Something that is gone after every collection, and how many there were. */
    private static volatile WeakReference<Object> garbage = new WeakReference<>(new Object());
    private static volatile int collections;

    /** An object that has a base. */
    private static final class Resident extends PhantomReference<Object> {
        final long base;
        Resident next;

        Resident(Object o, long base, Resident next) {
            super(o, null);
            this.base = base;
            this.next = next;
        }
    }

    private Resident residents;
    private int count;
    /** How many there have to be, and after which collection, before they are looked through. */
    private int enough = ENOUGH;
    private int looked;
    /** Bases of objects that are gone. */
    private long[] vacant = new long[16];
    private int vacancies;

    /** A base that was another object's, or 0 if there is none. */
    synchronized long take() {
        if (vacancies == 0 && count >= enough && looked != collections()) {
            look();
        }
        return vacancies == 0 ? 0 : vacant[--vacancies];
    }

    /** An object, which has a number in it, has this base. */
    synchronized void add(Object o, long base) {
        residents = new Resident(o, base, residents);
        count++;
    }

    /** The object with this base is gone. */
    synchronized void vacate(long base) {
        if (vacancies == vacant.length) {
            vacant = java.util.Arrays.copyOf(vacant, 2 * vacancies);
        }
        vacant[vacancies++] = base;
    }

    private void look() {
        looked = collections;
        Resident alive = null;
        Resident gone = null;
        int left = 0;
        for (Resident one = residents, next; one != null; one = next) {
            next = one.next;
            if (one.refersTo(null)) {
                one.next = gone;
                gone = one;
            } else {
                one.next = alive;
                alive = one;
                left++;
            }
        }
        // First: should there be no memory or stack left for the others, they must not be found again.
        residents = alive;
        count = left;
        enough = Math.max(ENOUGH, 2 * left);
        for (; gone != null; gone = gone.next) {
            vacate(gone.base);
        }
    }

    /** A number that changes with collections. */
    private static int collections() {
        if (garbage.refersTo(null)) {
            synchronized (AtomvetBases.class) {
                if (garbage.refersTo(null)) {
                    garbage = new WeakReference<>(new Object());
                    collections++;
                }
            }
        }
        return collections;
    }
}
