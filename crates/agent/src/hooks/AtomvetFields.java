package java.lang;

/** A field that is accessed by a handle or by its offset: the variable that it is for the program's own accesses. */
final class AtomvetFields {
    private final Class<?> type;
    private final long offset;
    final boolean isStatic;
    /** The bytes of the variable; 0 if there is none, as for final fields. */
    final int size;
    /** Where it is: seen from the base of its object, unless it is static. */
    final long address;

    /** Those that were used last. */
    private static final AtomvetFields[] KNOWN = new AtomvetFields[1024];

    private AtomvetFields(Class<?> type, long offset, boolean isStatic, int size, long address) {
        this.type = type;
        this.offset = offset;
        this.isStatic = isStatic;
        this.size = size;
        this.address = address;
    }

    static AtomvetFields find(AtomvetHooks.T t, Class<?> type, long offset, boolean isStatic) {
        int at = (System.identityHashCode(type) + (int) offset * 31) & KNOWN.length - 1;
        AtomvetFields known = KNOWN[at];
        if (known == null || known.type != type || known.offset != offset || known.isStatic != isStatic) {
            long place = isStatic ? AtomvetObjects.staticField(t, type, offset) : AtomvetObjects.field(type, offset);
            int size = isStatic ? place == 0 ? 0 : 8 : Long.bitCount(place >>> 32);
            known = new AtomvetFields(type, offset, isStatic, size, isStatic ? place : (int) place);
            KNOWN[at] = known;
        }
        return known;
    }
}
