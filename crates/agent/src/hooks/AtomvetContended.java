package java.lang;

import jdk.internal.misc.Unsafe;

/**
 * A field of which it is known whether threads contend for it: whether it is written in objects that others use, too.
 *
 * Objects settle as a whole (AtomvetSettled), and that a field of theirs is written ends it. But some fields are written in nearly all objects of
 * their class, a cached hash code say, while the others are only read. So a field for which that has happened a few times, and not just once in a
 * while, is left to the filter from then on, and the objects are settled but for it. The word of a site says so.
 */
final class AtomvetContended {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** How many objects it takes, and of how many that others have met at most. */
    private static final int ENOUGH = 4;
    private static final int OF = 64;
    /** The word of a site of a contended field. */
    private static final long CONTENDED = 1;

    /** The fields of sites, in pages. */
    private static final AtomvetContended[][] FIELDS = new AtomvetContended[1 << 14][];
    private static final int PAGE_SHIFT = 12;

    private final AtomvetObjects.About owner;
    /** Where it is accessed, and how many such places there are. */
    private int[] sites = new int[4];
    private int count;
    /** How many objects that had settled were disturbed by writes to it. */
    private int disturbed;
    private boolean isContended;

    AtomvetContended(AtomvetObjects.About owner) {
        this.owner = owner;
    }

    static boolean is(int site) {
        return AtomvetHooks.site(site) == CONTENDED;
    }

    /** The field is accessed at a site. */
    synchronized void add(int site) {
        synchronized (FIELDS) {
            if (FIELDS[site >>> PAGE_SHIFT] == null) {
                FIELDS[site >>> PAGE_SHIFT] = new AtomvetContended[1 << PAGE_SHIFT];
            }
        }
        FIELDS[site >>> PAGE_SHIFT][site & (1 << PAGE_SHIFT) - 1] = this;
        if (count == sites.length) {
            sites = java.util.Arrays.copyOf(sites, 2 * count);
        }
        sites[count++] = site;
        if (isContended) {
            mark(site);
        }
    }

    /** A write at a site has disturbed an object that had settled, of a class of which others have met so many. */
    static void disturb(int site, int met) {
        AtomvetContended[] page = FIELDS[site >>> PAGE_SHIFT];
        AtomvetContended field = page == null ? null : page[site & (1 << PAGE_SHIFT) - 1];
        if (field != null) {
            field.disturb(met);
        }
    }

    private synchronized void disturb(int met) {
        disturbed++;
        if (!isContended && disturbed >= ENOUGH && disturbed >= met / OF) {
            isContended = true;
            owner.hasContended = true;
            for (int i = 0; i < count; i++) {
                mark(sites[i]);
            }
        }
    }

    private static void mark(int site) {
        U.putLong(AtomvetHooks.SITES + ((long) site << 3), CONTENDED);
    }
}
