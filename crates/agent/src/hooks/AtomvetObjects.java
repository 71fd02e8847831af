package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.loader.BuiltinClassLoader;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Whose objects are, and where they and their fields would be in a memory that has nothing else in it.
 *
 * An object is 0 (nobody has touched it), or its owner's (a tag, which tells the thread and ends in two bits that the
 * first word of no object ends in), or shared: an even number, its base, where it would be in that memory; or it has settled, and may
 * have a base or not (AtomvetSettled). The number is in a field that the agent adds to application classes; for other objects see
 * AtomvetUnnumbered.
 */
final class AtomvetObjects {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Of the agent: see constant() in natives.rs. */
    private static final long NEXT_BASE = AtomvetHooks.constant(1);

    /** What a summary of the filter is about: what has one to itself can begin anew. */
    private static final long LINE = 64;

    /** Modifiers of fields. */
    private static final int STATIC = 0x8;
    private static final int FINAL = 0x10;
    private static final int IS_VOLATILE = 0x40;

    /** The field that has an object's number. */
    private static final String ID_FIELD = "$atomvet";

    private AtomvetObjects() {}

    /** The number of a class. More than that is not known of one that the JVM has not linked yet. */
    private static final ClassValue<Integer> NUMBERS = new ClassValue<Integer>() {
        @Override
        protected Integer computeValue(Class<?> type) {
            Class<?> above = type.isArray() ? null : type.getSuperclass();
            return AtomvetHooks.describe(type, above == null ? 0 : get(above));
        }
    };

    /** What is known of a class that has objects, or whose static fields are used. */
    static final class About {
        final Class<?> type;
        final int number;
        /** Where its objects have their number, or 0. */
        final long where;
        /** Its own references and those of its superclasses. */
        final long[] references;
        /** Its own fields: name, descriptor and modifiers of each. */
        final String[] fields;
        /** Where each of them would be in an object, seen from its base; 0 if it is static or final. */
        final int[] displacements;
        final About parent;
        /** Behind the last one. */
        final int end;
        /** Whether it has fields that are volatile, or is a class of the JDK that is one variable. */
        final boolean hasAtomics;
        /** Whether its objects are followed when something is published, and whether they are shared then. */
        final boolean followed;
        final boolean mayBeShared;
        /** Whether nothing can be reached from its objects that is to be followed, nor is anything in them that needs no lock. */
        final boolean isLeaf;
        /** Whether the JVM never gives it up, so that it may be held on to. */
        final boolean stays;
        /** How many of its objects have settled as one thread's or as only read, and how many of those in vain; not exactly. */
        int alone;
        int aloneInVain;
        int read;
        int readInVain;
        /** How many that had settled from the start another thread has read, and how many were written after that; not exactly. */
        int met;
        int metInVain;
        /** How many have settled from the start since threads contend for one of its fields; not exactly. */
        int begun;
        /** Bases of its objects, for arrays by size; null if those of objects that are gone are not used again. */
        private final AtomvetBases[] bases;
        /** The numbers of its own static fields, as far as they have one. */
        private final int[] statics;
        /** Its own fields, as far as they are accessed. */
        final AtomvetContended[] contention;
        /** Whether threads contend for one of them. */
        volatile boolean hasContended;

        static final ClassValue<About> ALL = new ClassValue<About>() {
            @Override
            protected About computeValue(Class<?> type) {
                return new About(type);
            }
        };

        /** What is known of an object's class. */
        static About of(AtomvetHooks.T t, Object o) {
            Class<?> type = o.getClass();
            int at = System.identityHashCode(type) & AtomvetHooks.T.ABOUTS - 1;
            About known = t.abouts[at];
            return known != null && known.type == type ? known : find(t, type, at);
        }

        @DontInline
        private static About find(AtomvetHooks.T t, Class<?> type, int at) {
            boolean wasBusy = t.busy;
            t.busy = true;
            try {
                About about = ALL.get(type);
                if (about.stays) {
                    t.abouts[at] = about;
                }
                return about;
            } finally {
                t.busy = wasBusy;
            }
        }

        private About(Class<?> type) {
            this.type = type;
            Class<?> above = type.getSuperclass();
            parent = above == null || type.isArray() ? null : ALL.get(above);
            number = NUMBERS.get(type);
            fields = type.isArray() ? new String[0] : AtomvetHooks.fields(type);
            displacements = new int[fields.length / 3];
            contention = new AtomvetContended[fields.length / 3];
            statics = new int[fields.length / 3];
            boolean hasVolatile = false;
            int next = parent == null ? 8 : parent.end;
            long id = parent == null ? 0 : parent.where;
            int count = parent == null ? 0 : parent.references.length;
            long[] found = new long[count + fields.length / 3];
            for (int i = 0; i < count; i++) {
                found[i] = parent.references[i];
            }
            for (int i = 0; i < fields.length; i += 3) {
                int modifiers = Integer.parseInt(fields[i + 2]);
                if ((modifiers & STATIC) != 0) {
                    continue;
                }
                long offset = AtomvetHooks.offset(type, fields[i]);
                if (fields[i].equals(ID_FIELD)) {
                    id = id == 0 ? offset : id;
                    continue;
                }
                if (fields[i + 1].charAt(0) == 'L' || fields[i + 1].charAt(0) == '[') {
                    found[count++] = offset;
                }
                if ((modifiers & (FINAL | IS_VOLATILE)) == 0 && offset != 0) {
                    int size = Integer.bitCount(bytes(fields[i + 1]));
                    next = next + size - 1 & -size;
                    displacements[i / 3] = next;
                    next += size;
                }
            }
            for (int i = 0; i < fields.length; i += 3) {
                if ((Integer.parseInt(fields[i + 2]) & (STATIC | IS_VOLATILE)) == IS_VOLATILE) {
                    // Each has 8 bytes for itself, and all of them words of the filter: see atomics.rs and late.rs of the recorder.
                    next = hasVolatile ? next : next + 15 & -16;
                    hasVolatile = true;
                    displacements[i / 3] = next;
                    next += 8;
                }
            }
            end = hasVolatile ? next + 15 & -16 : next;
            references = java.util.Arrays.copyOf(found, count);
            where = id >= 1 << 16 ? 0 : id;
            ClassLoader loader = type.getClassLoader();
            stays = (loader == null || loader instanceof BuiltinClassLoader) && !type.isHidden();
            followed = loader != null;
            mayBeShared = followed || type.isArray();
            hasAtomics = hasVolatile || parent != null && parent.hasAtomics || !mayBeShared && type != Object.class;
            isLeaf = !hasAtomics && count == 0 && !Object[].class.isAssignableFrom(type);
            // Static fields are found by their address for ever, and so are entries of a map (Keys of AtomvetCalls).
            boolean isFoundElsewhere = type == Class.class || java.util.Map.class.isAssignableFrom(type);
            bases = isFoundElsewhere ? null : new AtomvetBases[type.isArray() ? Long.SIZE : 1];
        }

        /** The bases of objects that take so much room; null if they are not used again. */
        AtomvetBases bases(long room) {
            if (bases == null) {
                return null;
            }
            int size = type.isArray() ? size(room) : 0;
            AtomvetBases known = bases[size];
            return known != null ? known : addBases(size);
        }

        /** The logarithm of so much room, or a little more. */
        private static int size(long room) {
            return Long.SIZE - Long.numberOfLeadingZeros(room - 1);
        }

        /** Whether threads contend for a field of its objects. */
        boolean isContended() {
            return hasContended || parent != null && parent.isContended();
        }

        /** The number of its own static field; see AtomvetStatics. */
        synchronized int numberOfStatic(int field) {
            if (statics[field] == 0) {
                statics[field] = AtomvetStatics.number();
            }
            return statics[field];
        }

        /** Its own field of this number. */
        synchronized AtomvetContended contention(int field) {
            if (contention[field] == null) {
                contention[field] = new AtomvetContended(this);
            }
            return contention[field];
        }

        private synchronized AtomvetBases addBases(int size) {
            if (bases[size] == null) {
                AtomvetBases added = new AtomvetBases();
                U.storeFence();
                bases[size] = added;
            }
            return bases[size];
        }

        /** How much room there is for an object: for an array more than it needs, so that others of about its size can be there after it. */
        long roomTaken(Object o) {
            long room = room(o);
            if (type.isArray()) {
                return 1L << size(room);
            }
            long unit = room > LINE / 2 ? LINE : 16;
            return room + unit - 1 & -unit;
        }

        /** How much room an object takes. */
        long room(Object o) {
            if (!type.isArray()) {
                return o instanceof Class ? 16 + 8L * 1024 : end;
            }
            if (o instanceof byte[] || o instanceof boolean[]) {
                return AtomvetHooks.HEADER + (long) AtomvetHooks.smallLength(o);
            }
            long length = java.lang.reflect.Array.getLength(o);
            return AtomvetHooks.HEADER + (o instanceof char[] || o instanceof short[] ? length << 1 : length << 3);
        }
    }

    /** Whether a number is that of a shared object. */
    static boolean isShared(long id) {
        return id != 0 && (id & 3) != 3;
    }

    /** Whether two numbers are the same, or were, before the object settled or was disturbed. */
    static boolean isOfSame(long id, long other) {
        long base = isShared(id) ? AtomvetSettled.base(id) : 0;
        return id == other || base != 0 && isShared(other) && base == AtomvetSettled.base(other);
    }

    /** The base of an object that this thread accesses; 0 if it is this thread's own, SETTLED if it has settled in a way that allows it. */
    static long touch(AtomvetHooks.T t, Object o, long where, int access, int site) {
        if (where == 0) {
            // The class that declares a field may have no number where the object's own has.
            where = About.of(t, o).where;
            if (where == 0) {
                return AtomvetUnnumbered.touch(o, access);
            }
        }
        while (true) {
            long id = U.getLongVolatile(o, where);
            if (id == t.tag || id == 0 && U.compareAndSetLong(o, where, 0, t.tag)) {
                return 0;
            }
            if (isShared(id) && !AtomvetSettled.is(id)) {
                return id;
            }
            boolean isContended = AtomvetContended.is(site);
            if (access == AtomvetSettled.ATOMIC || isContended && AtomvetSettled.isOnlyRead(id)) {
                return based(t, o, About.of(t, o));
            }
            if (AtomvetSettled.is(id) && AtomvetSettled.allows(id, access)) {
                return AtomvetSettled.SETTLED;
            }
            if (id != 0) {
                AtomvetSettled.disturb(t, o, id, isContended ? AtomvetSettled.READ : access, site);
            }
        }
    }

    /** Gives an object another number, unless it has a third one. */
    static boolean change(Object o, About about, long from, long to) {
        if (about.where != 0) {
            return U.compareAndSetLong(o, about.where, from, to);
        }
        return AtomvetUnnumbered.Shared.change(o, from, to);
    }

    /** An object is stored where other threads can find it. */
    @DontInline
    static void publish(Object o) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return;
        }
        About about = About.of(t, o);
        boolean isShared = about.where != 0 ? isShared(U.getLong(o, about.where)) : !about.mayBeShared;
        if (!isShared && !isLeftAsItIs(t, about)) {
            share(t, o, about);
        }
    }

    /** The base of an object, which is shared from now on. */
    static long shared(AtomvetHooks.T t, Object o) {
        About about = About.of(t, o);
        return about.where != 0 ? based(t, o, about) : AtomvetUnnumbered.Shared.of(t, o).base;
    }

    /** The same of an object that has a number. If it has settled, it stays so. */
    private static long based(AtomvetHooks.T t, Object o, About about) {
        while (true) {
            long id = U.getLongVolatile(o, about.where);
            boolean isShared = isShared(id);
            if (isShared && AtomvetSettled.base(id) != 0) {
                return AtomvetSettled.base(id);
            }
            long base = newBase(t, o, about);
            if (change(o, about, id, isShared ? id | base : base)) {
                if (!isShared) {
                    shareContents(t, o);
                }
                return base;
            }
        }
    }

    /** The base of an object that is about to be accessed atomically, and may be accessed plainly as well. */
    static long unsettled(AtomvetHooks.T t, Object o) {
        About about = About.of(t, o);
        if (about.where == 0) {
            AtomvetUnnumbered.Shared shared = AtomvetUnnumbered.Shared.of(t, o);
            if (AtomvetSettled.is(shared.id)) {
                AtomvetSettled.disturb(t, o, shared.id, AtomvetSettled.ATOMIC, 0);
            }
            return shared.base;
        }
        while (true) {
            long base = based(t, o, about);
            long id = U.getLongVolatile(o, about.where);
            if (id == base) {
                return base;
            }
            AtomvetSettled.disturb(t, o, id, AtomvetSettled.ATOMIC, 0);
        }
    }

    /** The element of an array that is about to be accessed atomically, and may be accessed plainly as well. */
    static long element(AtomvetHooks.T t, Object array, long index) {
        return unsettled(t, array) + AtomvetHooks.HEADER + index * sizeOfElement(array);
    }

    static int sizeOfElement(Object array) {
        if (array instanceof byte[] || array instanceof boolean[]) {
            return 1;
        }
        return array instanceof char[] || array instanceof short[] ? 2 : 8;
    }

    // For AtomvetCalls, whose calls are busy themselves.

    /** The base of an object of the JDK, or 0 if it is this thread's own. */
    static long baseUnlessOwn(AtomvetHooks.T t, Object o) {
        boolean wasBusy = t.busy;
        t.busy = false;
        try {
            return AtomvetUnnumbered.touch(o, AtomvetSettled.ATOMIC);
        } finally {
            t.busy = wasBusy;
        }
    }

    static void publishBusily(AtomvetHooks.T t, Object o) {
        boolean wasBusy = t.busy;
        t.busy = false;
        try {
            publish(o);
        } finally {
            t.busy = wasBusy;
        }
    }

    /** A variable that is no object's, with a name as if it were one of this class. */
    static long newVariable(int type) {
        long address = U.getAndAddLong(null, NEXT_BASE, 16);
        AtomvetHooks.announce(address, type, 0);
        return address;
    }

    /** How many objects are followed from one that is published. */
    private static final int REACH = 1 << 18;

    /** Shares an object and what can be reached from it through references of application classes and arrays. */
    @DontInline
    static void share(AtomvetHooks.T t, Object first, About about) {
        // This may take a while.
        AtomvetHooks.finish(t);
        boolean wasBusy = t.busy;
        t.busy = true;
        try {
            if (shareOne(t, first, about)) {
                shareContents(t, first);
            }
        } finally {
            t.busy = wasBusy;
        }
    }

    /** Shares what can be reached from a shared object. */
    static void shareContents(AtomvetHooks.T t, Object first) {
        boolean wasBusy = t.busy;
        t.busy = true;
        try {
            // Elements of an array are mostly of the same class.
            About aboutNext = About.of(t, first);
            // All in here are shared; what they refer to may not be.
            Object[] open = t.open;
            int count = 1;
            open[0] = first;
            int budget = REACH;
            while (count > 0) {
                Object o = open[--count];
                open[count] = null;
                About about = About.of(t, o);
                Object[] elements = o instanceof Object[] ? (Object[]) o : null;
                int references = elements != null ? elements.length : about.followed ? about.references.length : 0;
                for (int i = 0; i < references && budget > 0; i++) {
                    Object next = elements != null ? elements[i] : U.getReference(o, about.references[i]);
                    if (next == null || next instanceof String || next instanceof Class) {
                        continue;
                    }
                    if (aboutNext.type != next.getClass()) {
                        aboutNext = About.of(t, next);
                    }
                    // Most of what is in a copy of an array was in the original.
                    boolean isShared = aboutNext.where != 0 && isShared(U.getLong(next, aboutNext.where));
                    if (isShared || !aboutNext.mayBeShared || !shareOne(t, next, aboutNext)) {
                        continue;
                    }
                    budget--;
                    if (count == open.length) {
                        open = java.util.Arrays.copyOf(open, 2 * count);
                    }
                    open[count++] = next;
                }
            }
            if (open != t.open) {
                // Nothing is to be kept alive.
                java.util.Arrays.fill(t.open, null);
            }
            if (budget == 0) {
                AtomvetHooks.countUnfollowed();
            }
        } finally {
            t.busy = wasBusy;
        }
    }

    /** Whether it makes no difference whether objects of a class are shared, until another thread comes. */
    private static boolean isLeftAsItIs(AtomvetHooks.T t, About about) {
        return about.isLeaf && !about.isContended() && AtomvetSettled.mayBegin(t, about);
    }

    /** Shares one object; false if it is shared already, or if that would change nothing. */
    private static boolean shareOne(AtomvetHooks.T t, Object o, About about) {
        if (isLeftAsItIs(t, about)) {
            return false;
        }
        boolean settles = AtomvetSettled.mayBegin(t, about);
        if (about.where == 0) {
            return AtomvetUnnumbered.share(t, o, about, settles);
        }
        long id = U.getLongVolatile(o, about.where);
        while (!isShared(id)) {
            long number = settles ? AtomvetSettled.begin(about, id == 0 ? t.tag : id) : newBase(t, o, about);
            if (U.compareAndSetLong(o, about.where, id, number)) {
                return true;
            }
            id = U.getLongVolatile(o, about.where);
        }
        return false;
    }

    @DontInline
    static long newBase(AtomvetHooks.T t, Object o, About about) {
        AtomvetBases bases = about.bases(about.room(o));
        long base = bases == null ? 0 : bases.take();
        if (base != 0) {
            AtomvetHooks.newLife(base, about.roomTaken(o));
        } else {
            base = firstBase(t, o, about);
        }
        if (bases != null && about.where != 0) {
            bases.add(o, base);
        }
        return base;
    }

    /** A base that no object had. */
    private static long firstBase(AtomvetHooks.T t, Object o, About about) {
        long room = about.roomTaken(o);
        long base;
        if (room > Room.LEAST / 2) {
            base = U.getAndAddLong(null, NEXT_BASE, room);
        } else {
            base = (about.hasAtomics ? t.roomForAtomics : t.room).take(room);
        }
        if (o instanceof Class) {
            AtomvetHooks.announce(base, NUMBERS.get((Class<?>) o), 1);
        } else {
            AtomvetHooks.announce(base, about.number, 0);
        }
        return base;
    }

    /** Where objects go that one thread shares: next to each other, because it is mostly the same one that uses them. */
    static final class Room {
        /** What a thread gets at once: more every time, pages of the filter's words, and in the end one large page. */
        static final long LEAST = 1 << 13;
        private static final long MOST = 1 << 22;

        /** Whether it is for objects with plain fields. */
        private final boolean isPlain;
        private long next;
        private long end;
        private long size;

        Room(boolean isPlain) {
            this.isPlain = isPlain;
        }

        long take(long bytes) {
            if (bytes >= LINE) {
                next = next + LINE - 1 & -LINE;
            }
            if (end - next < bytes) {
                size = Math.min(Math.max(2 * size, LEAST), MOST);
                long from;
                do {
                    end = U.getLongVolatile(null, NEXT_BASE);
                    from = end + size - 1 & -size;
                } while (!U.compareAndSetLong(null, NEXT_BASE, end, from + size));
                next = from;
                end = from + size;
                if (isPlain) {
                    prepare(from, size);
                }
            }
            long base = next;
            next = base + bytes;
            return base;
        }
    }

    private static native void prepare(long base, long bytes);

    // Sites, when they are reached for the first time.

    /** Finds out where a field is. */
    @DontInline
    static long resolve(Object o, int site) {
        if (AtomvetHooks.site(site) < 0) {
            return setSite(site, -1);
        }
        String[] field = AtomvetHooks.fieldOf(site);
        About about = About.ALL.get(o.getClass());
        while (about != null && !about.type.getName().equals(field[0])) {
            about = about.parent;
        }
        if (about == null) {
            about = About.ALL.get(o.getClass());
        }
        long where = about.where;
        for (; about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                if (about.fields[i].equals(field[1]) && about.fields[i + 1].equals(field[2])) {
                    int modifiers = Integer.parseInt(about.fields[i + 2]);
                    long displacement = about.displacements[i / 3];
                    if (displacement == 0 || displacement >= 1 << 24) {
                        return setSite(site, -1);
                    }
                    AtomvetHooks.named(about.number, displacement, field[1], 0);
                    about.contention(i / 3).add(site);
                    boolean isVolatile = (modifiers & IS_VOLATILE) != 0;
                    long kind = isVolatile ? AtomvetHooks.VOLATILE_FIELD : where != 0 ? AtomvetHooks.SETTLING_FIELD : 0;
                    return setSite(site, displacement | where << 24 | (long) bytes(field[2]) << 40 | kind);
                }
            }
        }
        return setSite(site, -1);
    }

    /** The bytes of a field. */
    private static int bytes(String descriptor) {
        switch (descriptor.charAt(0)) {
            case 'B': case 'Z': return 0x1;
            case 'C': case 'S': return 0x3;
            case 'I': case 'F': return 0xf;
            case 'J': case 'D': return 0xff;
            default: return (1 << Unsafe.ARRAY_OBJECT_INDEX_SCALE) - 1;
        }
    }

    @DontInline
    static long resolveStatic(int site) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return -1;
        }
        if (AtomvetHooks.site(site) < 0) {
            return setSite(site, -1);
        }
        t.busy = true;
        try {
            String[] field = AtomvetHooks.fieldOf(site);
            ClassLoader loader = (ClassLoader) AtomvetHooks.loaderOf(site);
            Class<?> type = loader == null
                ? ClassLoader.findBootstrapClassOrNull(field[0]) : loader.findLoadedClass(field[0]);
            return type == null ? setSite(site, -1) : resolveStatic(t, type, field, site);
        } finally {
            t.busy = false;
        }
    }

    /** A static field may be declared by a superclass or by an interface, where it is final. */
    private static long resolveStatic(AtomvetHooks.T t, Class<?> type, String[] field, int site) {
        for (About about = About.ALL.get(type); about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                if (about.fields[i].equals(field[1]) && about.fields[i + 1].equals(field[2])) {
                    int modifiers = Integer.parseInt(about.fields[i + 2]);
                    if ((modifiers & FINAL) != 0 || i / 3 >= 1024) {
                        return setSite(site, -1);
                    }
                    long base = shared(t, about.type);
                    long displacement = 16 + 8L * (i / 3);
                    AtomvetHooks.named(about.number, displacement, field[1], 1);
                    long kind = (modifiers & IS_VOLATILE) != 0
                        ? AtomvetHooks.VOLATILE_STATIC : (long) about.numberOfStatic(i / 3) << AtomvetStatics.NUMBER_SHIFT;
                    return setSite(site, base + displacement | kind);
                }
            }
        }
        return setSite(site, -1);
    }

    // For AtomvetFields.

    /** Names the field of a class's objects at an offset; its displacement and, above, its bytes, or 0 if it is final or there is none. */
    static long field(Class<?> type, long offset) {
        for (About about = About.ALL.get(type); about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                int displacement = about.displacements[i / 3];
                if (displacement != 0 && AtomvetHooks.offset(about.type, about.fields[i]) == offset) {
                    AtomvetHooks.named(about.number, displacement, about.fields[i], 0);
                    return displacement | (long) bytes(about.fields[i + 1]) << 32;
                }
            }
        }
        return 0;
    }

    /** Names the static field at an offset; its address, or 0 if it is final or there is none. */
    static long staticField(AtomvetHooks.T t, Class<?> type, long offset) {
        About about = About.ALL.get(type);
        for (int i = 0; i < about.fields.length && i / 3 < 1024; i += 3) {
            int modifiers = Integer.parseInt(about.fields[i + 2]);
            if ((modifiers & (STATIC | FINAL)) == STATIC && staticOffset(type, about.fields[i]) == offset) {
                long displacement = 16 + 8L * (i / 3);
                AtomvetHooks.named(about.number, displacement, about.fields[i], 1);
                AtomvetStatics.follow(about.numberOfStatic(i / 3));
                return shared(t, type) + displacement;
            }
        }
        return 0;
    }

    private static long staticOffset(Class<?> type, String field) {
        try {
            return U.staticFieldOffset(type.getDeclaredField(field));
        } catch (Throwable none) {
            // Types of fields may be missing.
            return 0;
        }
    }

    private static long setSite(int site, long place) {
        AtomvetHooks.setPlace(site, place);
        return place;
    }
}
