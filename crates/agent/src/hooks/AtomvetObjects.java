package java.lang;

import java.lang.ref.WeakReference;
import jdk.internal.loader.BuiltinClassLoader;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Whose objects are, and where they and their fields would be in a memory that has nothing else in it.
 *
 * An object is 0 (nobody has touched it), or its owner's (a number that tells the thread and ends in two bits that the
 * first word of no object ends in), or shared: an even number, its base, where it would be in that memory, which may get a mark
 * (AtomvetSettled). The number is in a field that the agent adds to application classes. For other objects it is in two tables
 * by identity: OWNERS may forget, and then the object counts as shared; Shared never does.
 */
final class AtomvetObjects {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Of the agent: see constant() in natives.rs. */
    private static final long NEXT_BASE = AtomvetHooks.constant(1);
    private static final long OWNERS = AtomvetHooks.constant(2);

    /** Modifiers of fields. */
    private static final int STATIC = 0x8;
    private static final int FINAL = 0x10;
    private static final int IS_VOLATILE = 0x40;

    /** The field that has an object's number. */
    private static final String ID_FIELD = "$atomvet";

    /** Which bits of an object's first word are its identity hash code, and which say that it is not locked. */
    private static final long HASH_BITS = hashBits();
    private static final int HASH_SHIFT = Long.numberOfTrailingZeros(HASH_BITS & ~3);

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
        /** Whether the JVM never gives it up, so that it may be held on to. */
        final boolean stays;
        /** How many of its objects have settled as one thread's or as only read, and how many of those in vain; not exactly. */
        int alone;
        int aloneInVain;
        int read;
        int readInVain;

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

    /** The base of an object that this thread accesses; 0 if it is this thread's own, SETTLED if it has settled in a way that allows it. */
    static long touch(AtomvetHooks.T t, Object o, long where, int access) {
        if (where == 0) {
            // The class that declares a field may have no number where the object's own has.
            where = About.of(t, o).where;
            if (where == 0) {
                return array(o, access);
            }
        }
        long id = U.getLongVolatile(o, where);
        if (id == 0) {
            if (U.compareAndSetLong(o, where, 0, t.tag)) {
                return 0;
            }
            id = U.getLongVolatile(o, where);
        }
        if (id == t.tag) {
            return 0;
        }
        if (!isShared(id)) {
            return share(t, o);
        }
        if (AtomvetSettled.is(id) && access != AtomvetSettled.ATOMIC) {
            if (AtomvetSettled.allows(id, access)) {
                return AtomvetSettled.SETTLED;
            }
            AtomvetSettled.disturb(t, o, id);
        }
        return AtomvetSettled.base(id);
    }

    /** Gives a shared object another number with the same base, unless it has a third one. */
    static boolean change(Object o, About about, long from, long to) {
        if (about.where != 0) {
            return U.compareAndSetLong(o, about.where, from, to);
        }
        return Shared.change(o, from, to);
    }

    /** An object is stored where other threads can find it. */
    @DontInline
    static void publish(Object o) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return;
        }
        About about = About.of(t, o);
        if (about.where != 0) {
            long id = U.getLongVolatile(o, about.where);
            if (!isShared(id)) {
                share(t, o);
            }
        } else if (about.mayBeShared) {
            unnumbered(t, o, System.identityHashCode(o));
        }
    }

    /** The base of an object, which is shared from now on. */
    static long shared(AtomvetHooks.T t, Object o) {
        return AtomvetSettled.base(numberOf(t, o));
    }

    /** The same of an object that is about to be accessed atomically. */
    static long unsettled(AtomvetHooks.T t, Object o) {
        long id = numberOf(t, o);
        if (AtomvetSettled.is(id)) {
            AtomvetSettled.disturb(t, o, id);
        }
        return AtomvetSettled.base(id);
    }

    /** The number of an object, which is shared from now on. */
    private static long numberOf(AtomvetHooks.T t, Object o) {
        long where = About.of(t, o).where;
        if (where == 0) {
            return unnumbered(t, o, System.identityHashCode(o));
        }
        long id = U.getLongVolatile(o, where);
        return isShared(id) ? id : share(t, o);
    }

    /** The same of an object that has it in a table. */
    private static long unnumbered(AtomvetHooks.T t, Object o, int hash) {
        Shared shared = lately(t, o, hash);
        if (shared == null) {
            shared = Shared.entry(o, hash);
            if (shared == null) {
                return share(t, o);
            }
            remember(t, shared);
        }
        return shared.id;
    }

    // For AtomvetCalls, whose calls are busy themselves.

    /** The base of an object of the JDK, or 0 if it is this thread's own. */
    static long baseUnlessOwn(AtomvetHooks.T t, Object o) {
        boolean wasBusy = t.busy;
        t.busy = false;
        try {
            return array(o, AtomvetSettled.ATOMIC);
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

    static boolean isShared(Object o) {
        return Shared.find(o, System.identityHashCode(o)) != 0;
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
    static long share(AtomvetHooks.T t, Object first) {
        // This may take a while.
        AtomvetHooks.finish(t);
        boolean wasBusy = t.busy;
        t.busy = true;
        try {
            long base = shareOne(t, first, About.of(t, first));
            if (base < 0) {
                return -base;
            }
            shareContents(t, first);
            return base;
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
                    if (!aboutNext.mayBeShared || shareOne(t, next, aboutNext) < 0) {
                        continue;
                    }
                    budget--;
                    if (count == open.length) {
                        open = java.util.Arrays.copyOf(open, 2 * count);
                    }
                    open[count++] = next;
                }
            }
            if (budget == 0) {
                AtomvetHooks.countUnfollowed();
            }
        } finally {
            t.busy = wasBusy;
        }
    }

    /** Shares one object: its base, negative if it was shared already. */
    private static long shareOne(AtomvetHooks.T t, Object o, About about) {
        long where = about.where;
        if (where == 0) {
            int hash = System.identityHashCode(o);
            long base = Shared.find(o, hash);
            return base != 0 ? -base : Shared.add(t, o, hash, about);
        }
        long id = U.getLongVolatile(o, where);
        if (!isShared(id)) {
            long base = newBase(t, o, about);
            do {
                if (U.compareAndSetLong(o, where, id, base)) {
                    return base;
                }
                id = U.getLongVolatile(o, where);
            } while (!isShared(id));
        }
        return -AtomvetSettled.base(id);
    }

    @DontInline
    private static long newBase(AtomvetHooks.T t, Object o, About about) {
        long room = about.room(o) + 15 & -16;
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

    // Objects that have no number in them.

    /** Whose an object was when it was last seen, by identity hash code: that in the upper half, the thread's number below. */
    private static final int OWNERS_MASK = (1 << 17) - 1;
    private static final int SHARED = 0;
    /** How many shared ones a thread finds without a look at the tables, which are too large for a cache. */
    static final int LATELY = 2048;

    /** Where the owner of an object with this hash code is noted. */
    private static long owner(int hash) {
        return OWNERS + ((long) (hash & OWNERS_MASK) << 3);
    }

    private static long hashBits() {
        Object o = new Object();
        long before = U.getLong(o, 0L);
        int hash = System.identityHashCode(o);
        long after = U.getLong(o, 0L);
        for (int shift = 2; shift < 32; shift++) {
            long bits = 0x7fffffffL << shift;
            if ((before & bits) == 0 && (after & bits) == (long) hash << shift && (before & 3) == 1) {
                return bits | 3;
            }
        }
        return 0;
    }

    /** The base of an object without a number, as touch() gives it. */
    static long array(Object o, int access) {
        int me = (int) U.getLong(Thread.currentThread(), AtomvetHooks.TID);
        long first = U.getLong(o, 0L);
        int hash = HASH_BITS != 0 && (first & 3) == 1
            ? (int) ((first & HASH_BITS) >>> HASH_SHIFT) : System.identityHashCode(o);
        if (hash == 0) {
            claim(o, System.identityHashCode(o), me);
            return 0;
        }
        AtomvetHooks.T t = AtomvetHooks.THREADS[me & AtomvetHooks.THREADS.length - 1];
        if (t != null && t.thread != Thread.currentThread()) {
            t = null;
        }
        if (t != null) {
            Shared known = lately(t, o, hash);
            if (known != null) {
                return known.id == known.base ? known.base : settled(o, known, access);
            }
        }
        long owner = U.getLong(owner(hash));
        if (owner == ((long) hash << 32 | me)) {
            return 0;
        }
        Shared shared = Shared.entry(o, hash);
        if (shared != null) {
            if (t != null) {
                remember(t, shared);
            }
            return shared.id == shared.base ? shared.base : settled(o, shared, access);
        }
        if (owner == 0) {
            claim(o, hash, me);
            return 0;
        }
        t = AtomvetHooks.t();
        return t == null || t.busy ? 0 : share(t, o);
    }

    @DontInline
    private static long settled(Object o, Shared shared, int access) {
        long id = shared.id;
        if (AtomvetSettled.is(id)) {
            if (AtomvetSettled.allows(id, access)) {
                return AtomvetSettled.SETTLED;
            }
            AtomvetHooks.T t = AtomvetHooks.t();
            if (t != null && !t.busy) {
                AtomvetSettled.disturb(t, o, id);
            }
        }
        return shared.base;
    }

    /** The entry of an object that this thread has used lately, if there is one. */
    private static Shared lately(AtomvetHooks.T t, Object o, int hash) {
        int at = hash & LATELY - 1;
        if (t.latelyHashes[at] != hash || t.sweeps != Shared.sweeps) {
            return null;
        }
        Shared known = t.lately[at];
        return known != null && known.refersTo(o) ? known : null;
    }

    private static void remember(AtomvetHooks.T t, Shared shared) {
        if (t.sweeps != Shared.sweeps) {
            // Those from before are not what they were any more.
            t.sweeps = Shared.sweeps;
            java.util.Arrays.fill(t.lately, null);
            return;
        }
        int at = shared.hash & LATELY - 1;
        // Where many take turns it is better to keep one of them, and every change is work for the collector.
        if (t.lately[at] == null || (++t.misses & 3) == 0) {
            t.latelyHashes[at] = shared.hash;
            t.lately[at] = shared;
        }
    }

    @DontInline
    private static void claim(Object o, int hash, int me) {
        U.putLong(owner(hash), (long) hash << 32 | me);
        U.fullFence();
        if (Shared.mayHave(hash) && Shared.find(o, hash) != 0) {
            U.putLong(owner(hash), (long) hash << 32 | SHARED);
        }
    }

    /** Objects that are shared and have no number, by identity. */
    static final class Shared extends WeakReference<Object> {
        final int hash;
        final long base;
        /** The base, unless it has settled. */
        volatile long id;
        Shared next;

        private static volatile Shared[] table = new Shared[1 << 14];
        /** A bit for every hash code in the table, or rather for its lower bits: small enough for a cache, which the table is not. */
        private static volatile long[] marks = new long[1 << 15];
        private static int count;
        /** How often there were new entries for all. */
        static volatile int sweeps;
        private static final Object LOCK = new Object();

        private Shared(Object o, int hash, long base) {
            super(o);
            this.hash = hash;
            this.base = base;
            this.id = base;
        }

        /** False if no object with this hash code is shared. */
        static boolean mayHave(int hash) {
            long[] all = marks;
            return (all[hash >>> 6 & all.length - 1] >>> hash & 1) != 0;
        }

        private static void mark(long[] all, int hash) {
            all[hash >>> 6 & all.length - 1] |= 1L << hash;
        }

        static long find(Object o, int hash) {
            Shared entry = entry(o, hash);
            return entry == null ? 0 : entry.base;
        }

        static Shared entry(Object o, int hash) {
            Shared[] all = table;
            for (Shared one = all[hash & all.length - 1]; one != null; one = one.next) {
                if (one.hash == hash && one.refersTo(o)) {
                    return one;
                }
            }
            return null;
        }

        /** The base of an object; negative if another thread was faster. */
        @DontInline
        static long add(AtomvetHooks.T t, Object o, int hash, About about) {
            synchronized (LOCK) {
                long there = find(o, hash);
                if (there != 0) {
                    return -there;
                }
                if (count >= table.length) {
                    sweep();
                }
                long base = newBase(t, o, about);
                Shared one = new Shared(o, hash, base);
                Shared[] all = table;
                one.next = all[hash & all.length - 1];
                mark(marks, hash);
                U.storeFence();
                all[hash & all.length - 1] = one;
                count++;
                U.fullFence();
                if (U.getLong(owner(hash)) >>> 32 == hash) {
                    U.putLong(owner(hash), (long) hash << 32 | SHARED);
                }
                return base;
            }
        }

        static boolean change(Object o, long from, long to) {
            synchronized (LOCK) {
                Shared entry = entry(o, System.identityHashCode(o));
                boolean is = entry != null && entry.id == from;
                if (is) {
                    entry.id = to;
                }
                return is;
            }
        }

        /** Forgets objects that are gone, and makes room if that is not enough. */
        private static void sweep() {
            Shared[] old = table;
            int alive = 0;
            for (Shared head : old) {
                for (Shared one = head; one != null; one = one.next) {
                    alive += one.refersTo(null) ? 0 : 1;
                }
            }
            Shared[] all = new Shared[alive > old.length / 2 ? old.length * 2 : old.length];
            long[] marked = new long[marks.length];
            for (Shared head : old) {
                for (Shared one = head; one != null; one = one.next) {
                    Object o = one.get();
                    if (o != null) {
                        // A new entry, because others may follow the old one at this moment. That does not stay settled.
                        Shared copy = new Shared(o, one.hash, one.base);
                        copy.id = one.id;
                        one.id = one.base;
                        copy.next = all[one.hash & all.length - 1];
                        all[one.hash & all.length - 1] = copy;
                        mark(marked, one.hash);
                    }
                }
            }
            count = alive;
            marks = marked;
            table = all;
            sweeps++;
        }
    }

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
                    long isVolatile = (modifiers & IS_VOLATILE) != 0 ? AtomvetHooks.VOLATILE_FIELD : 0;
                    return setSite(site, displacement | where << 24 | (long) bytes(field[2]) << 40 | isVolatile);
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
                    long base = share(t, about.type);
                    long displacement = 16 + 8L * (i / 3);
                    AtomvetHooks.named(about.number, displacement, field[1], 1);
                    long isVolatile = (modifiers & IS_VOLATILE) != 0 ? AtomvetHooks.VOLATILE_STATIC : 0;
                    return setSite(site, base + displacement | isVolatile);
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
                return share(t, type) + displacement;
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
