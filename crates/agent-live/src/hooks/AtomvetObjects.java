package java.lang;

import jdk.internal.loader.BuiltinClassLoader;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Where objects and their fields are in the checker's shadow memory: synthetic addresses, because objects move.
 *
 * An object gets a base when a hook first comes upon it. The base is in a field that the agent adds to application classes; for other
 * objects see AtomvetUnnumbered. Every variable has 4 bytes, a granule, whatever its type: Java knows no accesses to a part of a variable.
 *
 *   base       the object as one variable: an atomic, a collection
 *   base + 4…  its fields that are not final, those of superclasses first; or the elements of an array
 */
final class AtomvetObjects {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Modifiers of fields. */
    private static final int STATIC = 0x8;
    private static final int FINAL = 0x10;
    private static final int IS_VOLATILE = 0x40;

    /** What the agent adds to objects: the base, and what holds on to it (AtomvetRooms). See ADDED_FIELDS of hook_classes.rs. */
    static final String BASE_FIELD = "$atomvet";
    private static final String ROOM_FIELD = "$atomvetRoom";

    /** In the number of a class: its static fields, and not one of its objects. See objects.rs. */
    private static final int STATICS = 1 << 31;

    /** How many classes a thread finds without a look at a table. */
    static final int ABOUTS = 256;

    private AtomvetObjects() {}

    /** What is known of a class that has objects, or whose static fields are used. */
    static final class About {
        final Class<?> type;
        final About parent;
        /** What the command knows it by. */
        final int number;
        /** Where its objects have their base and what holds on to it, or 0. */
        final long where;
        final long whereRoom;
        /** Its own fields: name, descriptor and modifiers of each. */
        final String[] fields;
        /** Where each of them is, seen from the base of an object; 0 if it is static or final. */
        final int[] displacements;
        /** Behind the last one. */
        final int end;
        /** Whether the JVM never gives it up, so that it may be held on to. */
        private final boolean stays;
        /** Where its static fields are, if any is used. */
        private long statics;
        private Object staticsRoom;

        static final ClassValue<About> ALL = new ClassValue<About>() {
            @Override
            protected About computeValue(Class<?> type) {
                return new About(type);
            }
        };

        /** What is known of an object's class. */
        static About of(AtomvetHooks.T t, Object o) {
            Class<?> type = o.getClass();
            int at = System.identityHashCode(type) & ABOUTS - 1;
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
            Class<?> above = type.isArray() ? null : type.getSuperclass();
            parent = above == null ? null : ALL.get(above);
            number = AtomvetHooks.describe(type, parent == null ? 0 : parent.number);
            fields = type.isArray() ? new String[0] : AtomvetHooks.fields(type);
            displacements = new int[fields.length / 3];
            long base = parent == null ? 0 : parent.where;
            long room = parent == null ? 0 : parent.whereRoom;
            int next = parent == null ? 4 : parent.end;
            for (int i = 0; i < fields.length; i += 3) {
                int modifiers = Integer.parseInt(fields[i + 2]);
                if (fields[i].equals(BASE_FIELD)) {
                    long offset = AtomvetHooks.offset(type, fields[i]);
                    base = base == 0 && offset < 1 << 16 ? offset : base;
                } else if (fields[i].equals(ROOM_FIELD)) {
                    room = room == 0 ? AtomvetHooks.offset(type, fields[i]) : room;
                } else if ((modifiers & (STATIC | FINAL)) == 0) {
                    displacements[i / 3] = next;
                    AtomvetHooks.named(number, next, fields[i], false);
                    next += 4;
                } else if ((modifiers & FINAL) == 0) {
                    AtomvetHooks.named(number, 4 * (i / 3), fields[i], true);
                }
            }
            where = room == 0 ? 0 : base;
            whereRoom = room;
            end = next;
            ClassLoader loader = type.getClassLoader();
            stays = (loader == null || loader instanceof BuiltinClassLoader) && !type.isHidden();
        }

        /** How many bytes an object takes. */
        long room(Object o) {
            return type.isArray() ? element(java.lang.reflect.Array.getLength(o)) : end;
        }

        /** Where its own static field of this number is. */
        synchronized long staticField(AtomvetHooks.T t, int field) {
            if (statics == 0) {
                statics = t.rooms.take(4L * displacements.length, number | STATICS);
                staticsRoom = t.rooms.room();
            }
            return statics + 4L * field;
        }
    }

    /** Where an element of an array is, seen from the base. */
    static long element(long index) {
        return 4 + (index << 2);
    }

    /** The base of an object, which is in it at "where" if that is known. */
    static long base(AtomvetHooks.T t, Object o, long where) {
        if (where == 0) {
            where = About.of(t, o).where;
            if (where == 0) {
                return AtomvetUnnumbered.base(t, o);
            }
        }
        long base = U.getLong(o, where);
        return base != 0 ? base : newBase(t, o, where);
    }

    static boolean hasBase(AtomvetHooks.T t, Object o, long where) {
        where = where == 0 ? About.of(t, o).where : where;
        return where == 0 ? AtomvetUnnumbered.hasBase(o) : U.getLong(o, where) != 0;
    }

    @DontInline
    private static long newBase(AtomvetHooks.T t, Object o, long where) {
        About about = About.of(t, o);
        long base = t.rooms.take(about.end, about.number);
        if (!U.compareAndSetLong(o, where, 0, base)) {
            return U.getLongVolatile(o, where);
        }
        U.putReference(o, about.whereRoom, t.rooms.room());
        return base;
    }

    static void cloned(AtomvetHooks.T t, Object copy) {
        long where = About.of(t, copy).where;
        if (where != 0) {
            U.putLong(copy, where, 0);
        }
    }

    // Sites, when they are reached for the first time.

    /** Finds out where a field is. */
    @DontInline
    static long resolve(Object o, int site) {
        if (AtomvetHooks.site(site) < 0) {
            return AtomvetHooks.setPlace(site, -1);
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
            int i = find(about, field);
            if (i >= 0) {
                long displacement = about.displacements[i / 3];
                if (displacement == 0 || displacement >= 1 << 24) {
                    break;
                }
                boolean isVolatile = (Integer.parseInt(about.fields[i + 2]) & IS_VOLATILE) != 0;
                return AtomvetHooks.setPlace(site, displacement | where << 24 | (isVolatile ? AtomvetHooks.VOLATILE_FIELD : 0));
            }
        }
        return AtomvetHooks.setPlace(site, -1);
    }

    /** Where the name of a field is among those of a class; below 0 if it has none of that name and type. */
    private static int find(About about, String[] field) {
        for (int i = 0; i < about.fields.length; i += 3) {
            if (about.fields[i].equals(field[1]) && about.fields[i + 1].equals(field[2])) {
                return i;
            }
        }
        return -1;
    }

    @DontInline
    static long resolveStatic(AtomvetHooks.T t, int site) {
        if (AtomvetHooks.site(site) < 0) {
            return AtomvetHooks.setPlace(site, -1);
        }
        t.busy = true;
        try {
            String[] field = AtomvetHooks.fieldOf(site);
            ClassLoader loader = (ClassLoader) AtomvetHooks.loaderOf(site);
            Class<?> type = loader == null
                ? ClassLoader.findBootstrapClassOrNull(field[0]) : loader.findLoadedClass(field[0]);
            // It may be declared by a superclass, or by an interface, where it is final.
            for (About about = type == null ? null : About.ALL.get(type); about != null; about = about.parent) {
                int i = find(about, field);
                if (i >= 0) {
                    int modifiers = Integer.parseInt(about.fields[i + 2]);
                    if ((modifiers & FINAL) != 0) {
                        break;
                    }
                    long kind = (modifiers & IS_VOLATILE) != 0 ? AtomvetHooks.VOLATILE_STATIC : 0;
                    return AtomvetHooks.setPlace(site, about.staticField(t, i / 3) | kind);
                }
            }
            return AtomvetHooks.setPlace(site, -1);
        } finally {
            t.busy = false;
        }
    }

    // For AtomvetCalls and AtomvetFields.

    /** The address of an object that is one variable. */
    static long shared(AtomvetHooks.T t, Object o) {
        return base(t, o, 0);
    }

    static long unsettled(AtomvetHooks.T t, Object o) {
        return base(t, o, 0);
    }

    static long baseUnlessOwn(AtomvetHooks.T t, Object o) {
        return base(t, o, 0);
    }

    static void publishBusily(AtomvetHooks.T t, Object o) {}

    /** The address of an element. */
    static long element(AtomvetHooks.T t, Object array, long index) {
        return AtomvetUnnumbered.base(t, array) + element(index);
    }

    static int sizeOfElement(Object array) {
        return 4;
    }

    /** The displacement of the field at an offset in a class's objects and, above, its bytes; 0 if it is final or there is none. */
    static long field(Class<?> type, long offset) {
        for (About about = About.ALL.get(type); about != null; about = about.parent) {
            for (int i = 0; i < about.fields.length; i += 3) {
                int displacement = about.displacements[i / 3];
                if (displacement != 0 && AtomvetHooks.offset(about.type, about.fields[i]) == offset) {
                    return displacement | 0xfL << 32;
                }
            }
        }
        return 0;
    }

    /** The address of the static field at an offset, or 0 if it is final or there is none. */
    static long staticField(AtomvetHooks.T t, Class<?> type, long offset) {
        About about = About.ALL.get(type);
        for (int i = 0; i < about.fields.length; i += 3) {
            int modifiers = Integer.parseInt(about.fields[i + 2]);
            if ((modifiers & (STATIC | FINAL)) == STATIC && staticOffset(type, about.fields[i]) == offset) {
                return about.staticField(t, i / 3);
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
}
