package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * Static fields that have settled: nobody has written to them for long, and until somebody does, the filter need not hear of reads. What
 * AtomvetSettled says of objects holds for them as well.
 *
 * A static field that is not volatile has a number, which is in the words of its sites, above the address.
 */
final class AtomvetStatics {
    private static final Unsafe U = Unsafe.getUnsafe();

    static final int NUMBER_SHIFT = 43;
    private static final long ADDRESS = (1L << NUMBER_SHIFT) - 1;
    /** So many have numbers; the others have 0, and never settle. */
    private static final int MOST = 1 << 16;

    private static final byte FOLLOWED = 0;
    private static final byte ONLY_READ = 1;
    private static final byte FOLLOWED_FOR_EVER = 2;
    private static final byte[] STATES = new byte[MOST];
    private static int count = 1;

    private AtomvetStatics() {}

    static synchronized int number() {
        return count < MOST ? count++ : 0;
    }

    /** What the word of a site says where the field is. */
    static long address(long place) {
        return place & ADDRESS;
    }

    private static int number(long place) {
        return (int) (place >>> NUMBER_SHIFT) & MOST - 1;
    }

    static boolean isSettled(long place) {
        return STATES[number(place)] == ONLY_READ;
    }

    /** Somebody writes, and says so before and after that is noted: who lets it settle meanwhile may not have seen one of them. */
    static void disturb(long place) {
        if (isSettled(place)) {
            change(place, ONLY_READ, FOLLOWED);
        }
    }

    /** It is accessed in ways that say nothing here. */
    static synchronized void follow(int number) {
        STATES[number] = FOLLOWED_FOR_EVER;
    }

    /** Nobody has written for long. */
    static void settle(long place) {
        if (number(place) != 0) {
            change(place, FOLLOWED, ONLY_READ);
        }
    }

    private static synchronized void change(long place, byte from, byte to) {
        int number = number(place);
        if (STATES[number] == from) {
            STATES[number] = to;
            U.fullFence();
        }
    }
}
