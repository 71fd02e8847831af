package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * What watched methods of the JDK call: see juc.rs, whose table says which methods they are, whose calls count, and which
 * action each call is. The word of a site has the action, who may call, whether the method is synchronized, and the number
 * of its name.
 *
 * What a thread gives to others is recorded when the call begins, what it gets when it returns, so that the order of
 * records never says more than the order of what happened. A variable's stripe is held in between, as for fields.
 *
 * Collections that are guarded by a monitor are different: a stripe must not be held by who waits for the monitor. There
 * the access is recorded inside the monitor: at the start of a synchronized method, or else where the first one is called
 * or the monitor is entered.
 */
public final class AtomvetCalls {
    private static final Unsafe U = Unsafe.getUnsafe();

    // Parts of a site's word.
    private static final int ACTION = 0xff;
    private static final int OF_PROGRAM = 1 << 8;
    private static final int SYNCHRONIZED = 1 << 9;
    private static final int MONITORED = 1 << 10;
    private static final int BY_HANDLE = 1 << 11;
    private static final int BY_OFFSET = 1 << 12;
    private static final int BRIEF = 1 << 13;
    private static final int VIEW = 1 << 14;
    private static final int NAME_SHIFT = 16;

    // Actions: the same numbers as in juc.rs.
    private static final int LOCK = 1;
    private static final int UNLOCK = 2;
    private static final int LOCK_SHARED = 3;
    private static final int UNLOCK_SHARED = 4;
    private static final int UNLOCK_STAMPED = 5;
    private static final int AWAIT = 6;
    private static final int BARRIER = 7;
    private static final int ALL_ARRIVED = 8;
    private static final int PUBLISH = 9;
    private static final int OBSERVE = 10;
    private static final int PUBLISH_AND_OBSERVE = 11;
    private static final int RELEASE = 12;
    private static final int ACQUIRE = 13;
    private static final int PUT = 14;
    private static final int TAKE = 15;
    private static final int EXCHANGE = 16;
    private static final int SUBMIT = 17;
    private static final int GET_TASK = 18;
    private static final int FIRST_TASK = 19;
    private static final int RUN_TASK = 20;
    private static final int COMPLETE = 21;
    private static final int JOIN = 22;
    private static final int FIRE = 23;
    private static final int UNPARK = 24;
    private static final int PARK = 25;
    private static final int DEPEND = 26;
    private static final int DRAIN = 27;
    private static final int CONVERT_TO_WRITE = 28;
    private static final int CONVERT_TO_READ = 29;
    private static final int CONVERT_TO_OPTIMISTIC = 30;
    private static final int INVOKE = 31;
    private static final int FIRST_ACCESS = 32;
    private static final int READ = 32;
    private static final int WRITE = 33;
    private static final int UPDATE = 34;
    private static final int UPDATE_IF = 35;
    private static final int ADD = 36;
    private static final int UPDATE_BY = 37;
    private static final int WRITE_IF = 38;
    private static final int READ_ELEMENT = 39;
    private static final int WRITE_ELEMENT = 40;
    private static final int UPDATE_ELEMENT = 41;
    private static final int UPDATE_ELEMENT_IF = 42;
    private static final int ADD_ELEMENT = 43;
    private static final int READ_KEY = 44;
    private static final int WRITE_KEY = 45;
    private static final int UPDATE_KEY_IF = 46;
    private static final int UPDATE_KEY_IF_NULL = 47;
    private static final int COMPUTE_KEY = 48;
    private static final int INSERT_KEY = 49;
    private static final int MERGE_KEY = 50;
    private static final int KEY_CHANGED = 51;
    private static final int READ_FIELD = 52;
    private static final int WRITE_FIELD = 53;
    private static final int UPDATE_FIELD = 54;
    private static final int UPDATE_FIELD_IF = 55;
    private static final int ADD_FIELD = 56;
    private static final int SEVERAL = 57;
    private static final int UPDATE_KEYS = 58;
    private static final int WRITE_KEYS_OF = 59;
    private static final int POLL_KEY = 60;

    // Records: see record() in juc.rs.
    private static final int NEITHER = -1;
    private static final int R_READ = 0;
    private static final int R_WRITE = 1;
    private static final int R_UPDATE = 2;
    private static final int R_ADD = 3;
    private static final int R_ACQUIRE = 4;
    private static final int R_ACQUIRE_SHARED = 5;
    private static final int R_RELEASE = 6;
    private static final int R_RELEASE_SHARED = 7;
    private static final int R_WAIT = 8;
    private static final int R_BARRIER = 9;
    private static final int R_POST = 10;
    private static final int R_TAKE = 11;
    private static final int R_PUBLISH = 12;
    private static final int R_OBSERVE = 13;

    // How a call ends.
    private static final int NO = 0;
    private static final int YES = 1;
    private static final int THROWS = 2;

    private AtomvetCalls() {}

    /** A watched call that a thread is in. */
    static final class Call {
        final Call outer;
        final Object object;
        final Object argument;
        final long number;
        final int site;
        /** Where the program made it, or else the site itself. */
        final int place;
        final int action;
        /** How the variable is told: BY_HANDLE, BY_OFFSET, or by the action alone. */
        final int how;
        /** Calls of the same method inside of this one that do not count. */
        int skipped;
        /** The variable, its size, and whether its access has yet to be recorded. */
        long address;
        int size = 8;
        boolean pending;
        /** It is recorded as far as it need be, as a write: see access_again() of atomics.rs. */
        boolean again;
        /** The map got or lost a key inside of this call. */
        boolean changed;
        /** Of a collection with a monitor: the call has it, and how many keys the map had then. */
        boolean inside;
        int keys;
        /** The synchronized method of the same object that this call is made of, if its result says what was done. */
        int inner;
        /** Whether the object stands for another one. */
        final boolean view;

        Call(Call outer, Object object, Object argument, long number, int site, int place, int word) {
            this.outer = outer;
            this.object = object;
            this.argument = argument;
            this.number = number;
            this.site = site;
            this.place = place;
            this.action = word & ACTION;
            this.how = word & (BY_HANDLE | BY_OFFSET);
            this.view = (word & VIEW) != 0;
        }

        /** Whether only the end of the call tells what it did. */
        boolean isConditional() {
            return action == WRITE_IF || action >= UPDATE_KEY_IF && action <= MERGE_KEY;
        }
    }

    public static void enterCall(Object object, int site) {
        enter(object, null, 1, site);
    }

    public static void enterCall(Object object, Object argument, int site) {
        enter(object, argument, 1, site);
    }

    public static void enterCall(Object object, int number, int site) {
        enter(object, null, number, site);
    }

    public static void enterCall(Object object, long number, int site) {
        enter(object, null, number, site);
    }

    public static void enterCall(Object object, Object argument, long number, int site) {
        enter(object, argument, number, site);
    }

    @DontInline
    private static void enter(Object object, Object argument, long number, int site) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null) {
            return;
        }
        int word = (int) AtomvetHooks.site(site);
        int place = t.calling;
        // The JVM links a call of a handle with the help of maps, which have methods of the same names.
        int differs = place == 0 ? -1 : (int) AtomvetHooks.site(place) ^ word;
        boolean fits = differs >>> NAME_SHIFT == 0 && (differs & (BY_HANDLE | BY_OFFSET)) == 0;
        Call call = t.call;
        boolean isPart = call != null && call.action == SEVERAL && call.object == object;
        if (!fits && !isPart && (word & OF_PROGRAM) != 0 || t.busy) {
            if (call != null) {
                if (call.site == site) {
                    call.skipped++;
                }
                if (call.pending && (word & SYNCHRONIZED) != 0 && call.object == object) {
                    if (!call.isConditional()) {
                        access(t, call, YES);
                    } else if (call.inner == 0 && !call.inside) {
                        call.inner = site;
                    }
                }
                if ((word & ACTION) == KEY_CHANGED && call.object == object) {
                    call.changed = true;
                }
            }
            return;
        }
        if (fits) {
            t.calling = 0;
        } else {
            place = isPart ? call.place : site;
        }
        AtomvetHooks.finish(t);
        call = new Call(call, object, argument, number, site, place, word);
        t.call = call;
        t.busy = true;
        try {
            if (call.action >= FIRST_ACCESS) {
                begin(t, call, word);
            } else {
                give(t, call);
            }
        } finally {
            t.busy = false;
        }
    }

    public static void exitCall(int site) {
        leave(null, YES, 0, site);
    }

    public static void exitCall(Object result, int site) {
        leave(result, result == null ? NO : YES, 0, site);
    }

    public static void exitCall(boolean result, int site) {
        leave(null, result ? YES : NO, 0, site);
    }

    public static void exitCall(int result, int site) {
        leave(null, result != 0 ? YES : NO, result, site);
    }

    public static void exitCall(long result, int site) {
        leave(null, result != 0 ? YES : NO, result, site);
    }

    // A compare-and-exchange has changed the variable if it found what it expected. Handles compare the bits of numbers.

    public static void exitExchange(int result, int expected, int site) {
        leave(null, result == expected ? YES : NO, 0, site);
    }

    public static void exitExchange(long result, long expected, int site) {
        leave(null, result == expected ? YES : NO, 0, site);
    }

    public static void exitExchange(float result, float expected, int site) {
        leave(null, Float.floatToRawIntBits(result) == Float.floatToRawIntBits(expected) ? YES : NO, 0, site);
    }

    public static void exitExchange(double result, double expected, int site) {
        leave(null, Double.doubleToRawLongBits(result) == Double.doubleToRawLongBits(expected) ? YES : NO, 0, site);
    }

    public static void exitExchange(Object result, Object expected, int site) {
        leave(null, result == expected ? YES : NO, 0, site);
    }

    public static void throwCall(int site) {
        leave(null, THROWS, 0, site);
    }

    @DontInline
    private static void leave(Object result, int way, long number, int site) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return;
        }
        Call call = t.call;
        if (call == null || call.site != site) {
            if (call != null && call.pending && call.inner == site) {
                t.busy = true;
                try {
                    access(t, call, way);
                } finally {
                    t.busy = false;
                }
            }
            return;
        }
        if (call.skipped > 0) {
            call.skipped--;
            return;
        }
        t.call = call.outer;
        t.busy = true;
        try {
            if (call.action >= FIRST_ACCESS) {
                if (call.pending) {
                    if (call.inside && !call.changed && call.object instanceof java.util.Hashtable) {
                        call.changed = call.keys != keys(call.object);
                    }
                    access(t, call, way);
                } else if (call.action == POLL_KEY && result != null) {
                    poll(t, call, result);
                }
                AtomvetHooks.finish(t);
            } else if (way != THROWS) {
                get(t, call, result, number, way);
            }
        } finally {
            t.busy = false;
        }
    }

    /** Inside of a synchronized collection, which has its monitor now. */
    public static void acquired(Object monitor, int site) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return;
        }
        Call call = t.call;
        if (call != null && call.pending && !call.inside) {
            t.busy = true;
            try {
                if (call.isConditional()) {
                    // Whoever gets the monitor next waits for the stripe until this call has told what it did.
                    AtomvetHooks.tellBlocks(t);
                    AtomvetHooks.holds(t, begin(NEITHER, call.address, call.size, call.place));
                    call.inside = true;
                    call.keys = keys(call.object);
                } else {
                    access(t, call, YES);
                }
            } finally {
                t.busy = false;
            }
        }
    }

    public static void releasing(Object monitor, int site) {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy) {
            return;
        }
        Call call = t.call;
        if (call != null && call.pending && call.inside) {
            t.busy = true;
            try {
                call.changed = call.keys < 0 || call.keys != keys(call.object);
            } finally {
                t.busy = false;
            }
        }
    }

    /** How many keys a map has whose monitor is held; below 0 if only the program could tell. */
    private static int keys(Object map) {
        if (map instanceof java.util.Hashtable) {
            return ((java.util.Hashtable<?, ?>) map).size();
        }
        Object inner = reference(map, "m");
        boolean isKnown = inner instanceof java.util.Map && inner.getClass().getClassLoader() == null;
        return isKnown ? ((java.util.Map<?, ?>) inner).size() : -1;
    }

    // What is given to others, before anything happens.

    @DontInline
    private static void give(AtomvetHooks.T t, Call call) {
        Object object = call.object;
        int place = call.place;
        switch (call.action) {
            case UNLOCK:
                record(t, R_RELEASE, lock(t, object), place);
                break;
            case UNLOCK_SHARED:
                record(t, R_RELEASE_SHARED, lock(t, object), place);
                break;
            case UNLOCK_STAMPED:
                boolean exclusive = ((java.util.concurrent.locks.StampedLock) object).isWriteLocked();
                record(t, exclusive ? R_RELEASE : R_RELEASE_SHARED, lock(t, object), place);
                break;
            case AWAIT:
                record(t, R_WAIT, lock(t, object), place);
                break;
            case BARRIER:
                record(t, R_BARRIER, AtomvetObjects.shared(t, object), place);
                break;
            case ALL_ARRIVED:
            case PUBLISH:
            case PUBLISH_AND_OBSERVE:
            case COMPLETE:
                record(t, R_PUBLISH, key(object, 0), place);
                break;
            case RELEASE:
                permits(t, object);
                for (int i = 0; i < call.number; i++) {
                    record(t, R_POST, AtomvetObjects.shared(t, object), place);
                }
                break;
            case ACQUIRE:
            case DRAIN:
                permits(t, object);
                break;
            case CONVERT_TO_READ:
            case CONVERT_TO_OPTIMISTIC:
                if (java.util.concurrent.locks.StampedLock.isWriteLockStamp(call.number)) {
                    record(t, R_RELEASE, lock(t, object), place);
                } else if (call.action == CONVERT_TO_OPTIMISTIC
                        && java.util.concurrent.locks.StampedLock.isReadLockStamp(call.number)) {
                    record(t, R_RELEASE_SHARED, lock(t, object), place);
                }
                break;
            case PUT:
            case EXCHANGE:
                if (call.argument != null) {
                    AtomvetObjects.publishBusily(t, call.argument);
                    record(t, R_POST, key(object, System.identityHashCode(call.argument)), place);
                }
                break;
            case SUBMIT:
                if (call.argument != null) {
                    AtomvetObjects.publishBusily(t, call.argument);
                    record(t, R_POST, key(call.argument, TASK), place);
                }
                break;
            case FIRST_TASK:
                Object first = reference(object, "firstTask");
                if (first != null) {
                    record(t, R_TAKE, key(first, TASK), place);
                }
                break;
            case RUN_TASK:
                record(t, R_TAKE, key(object, TASK), place);
                break;
            case DEPEND:
                if (reference(object, "result") != null) {
                    observe(t, object, place);
                }
                break;
            case FIRE:
                observe(t, reference(object, "src"), place);
                observe(t, reference(object, "snd"), place);
                break;
            case UNPARK:
                if (object != null) {
                    record(t, R_PUBLISH, key(object, PERMIT), place);
                }
                break;
            default:
                break;
        }
    }

    // What is got from others, when it is over.

    @DontInline
    private static void get(AtomvetHooks.T t, Call call, Object result, long number, int way) {
        Object object = call.object;
        int place = call.place;
        switch (call.action) {
            case LOCK:
                if (way == YES) {
                    record(t, R_ACQUIRE, lock(t, object), place);
                }
                break;
            case LOCK_SHARED:
                if (way == YES) {
                    record(t, R_ACQUIRE_SHARED, lock(t, object), place);
                }
                break;
            case CONVERT_TO_WRITE:
                boolean isShared = java.util.concurrent.locks.StampedLock.isReadLockStamp(call.number);
                if (way == YES && isShared) {
                    record(t, R_RELEASE_SHARED, lock(t, object), place);
                }
                if (way == YES && !java.util.concurrent.locks.StampedLock.isWriteLockStamp(call.number)) {
                    record(t, R_ACQUIRE, lock(t, object), place);
                }
                break;
            case CONVERT_TO_READ:
                if (way == YES && !java.util.concurrent.locks.StampedLock.isReadLockStamp(call.number)) {
                    record(t, R_ACQUIRE_SHARED, lock(t, object), place);
                }
                break;
            case DRAIN:
                for (int i = 0; i < number; i++) {
                    record(t, R_TAKE, AtomvetObjects.shared(t, object), place);
                }
                break;
            case BARRIER:
                if (reference(object, "barrierCommand") != null) {
                    record(t, R_OBSERVE, key(object, 0), place);
                }
                break;
            case OBSERVE:
                if (way == YES) {
                    observe(t, object, place);
                } else {
                    waited(t, place);
                }
                break;
            case PUBLISH_AND_OBSERVE:
            case JOIN:
                observe(t, object, place);
                break;
            case ACQUIRE:
                if (way == YES) {
                    for (int i = 0; i < call.number; i++) {
                        record(t, R_TAKE, AtomvetObjects.shared(t, object), place);
                    }
                }
                break;
            case TAKE:
            case EXCHANGE:
                if (result != null) {
                    record(t, R_TAKE, key(object, System.identityHashCode(result)), place);
                }
                break;
            case GET_TASK:
                if (result != null) {
                    record(t, R_TAKE, key(result, TASK), place);
                }
                break;
            case RUN_TASK:
                record(t, R_PUBLISH, key(object, 0), place);
                break;
            case INVOKE:
                observe(t, call.argument, place);
                break;
            case PARK:
                waited(t, place);
                record(t, R_OBSERVE, key(t.thread, PERMIT), place);
                break;
            default:
                break;
        }
    }

    /** The thread has waited for what others made known, or would have. */
    private static void observe(AtomvetHooks.T t, Object object, int place) {
        if (object != null) {
            waited(t, place);
            record(t, R_OBSERVE, key(object, 0), place);
        }
    }

    /** The thread has waited, which ends the piece of a block. */
    private static void waited(AtomvetHooks.T t, int place) {
        record(t, R_BARRIER, AtomvetObjects.shared(t, t.thread), place);
    }

    private static void record(AtomvetHooks.T t, int what, long operand, int place) {
        AtomvetHooks.tellBlocks(t);
        record(what, operand, place);
    }

    // Variables.

    private static void begin(AtomvetHooks.T t, Call call, int word) {
        if (call.action == SEVERAL || call.action == POLL_KEY) {
            return;
        }
        long address = variable(t, call);
        if (address == 0) {
            return;
        }
        call.address = address;
        call.pending = true;
        if ((word & MONITORED) != 0) {
            if ((word & SYNCHRONIZED) != 0 && call.isConditional()) {
                // It ends before the monitor is left.
                call.inside = true;
                call.keys = keys(call.object);
            } else if ((word & SYNCHRONIZED) != 0) {
                access(t, call, YES);
            }
        } else if (call.action == READ_ELEMENT && (word & BRIEF) != 0) {
            // Nothing that it returns makes a difference.
            call.pending = false;
            AtomvetHooks.read(t, address, call.size, call.place);
        } else if (call.action != UPDATE_BY && (call.action < COMPUTE_KEY || call.action > MERGE_KEY)) {
            AtomvetHooks.tellBlocks(t);
            AtomvetHooks.holds(t, begin(again(call, word), address, call.size, call.place));
            // If nothing is held there is nothing left to record, unless it is no write after all.
            call.again = AtomvetHooks.isUnderWayAlone(t);
            call.pending = !call.again || call.action == UPDATE_IF || call.action == UPDATE_ELEMENT_IF;
        }
    }

    /**
     * What a call records if nobody else has used its variable lately, and if it writes; NEITHER if that is not to be asked: the program's own code
     * would end the access before it is made.
     */
    private static int again(Call call, int word) {
        if ((word & BRIEF) == 0 || call.how != 0 || call.action > ADD_ELEMENT) {
            return NEITHER;
        }
        return call.action == WRITE || call.action == WRITE_ELEMENT ? R_WRITE : R_UPDATE;
    }

    private static void access(AtomvetHooks.T t, Call call, int way) {
        call.pending = false;
        if (call.action == UPDATE_KEYS || call.action == WRITE_KEYS_OF) {
            accessKeys(t, call);
            return;
        }
        if (call.again) {
            if (way != YES) {
                wasRead(call.address);
            }
            return;
        }
        int what;
        switch (call.action) {
            case READ:
            case READ_ELEMENT:
            case READ_KEY:
            case READ_FIELD:
                what = R_READ;
                break;
            case WRITE:
            case WRITE_ELEMENT:
            case WRITE_KEY:
            case WRITE_FIELD:
                what = R_WRITE;
                break;
            case ADD:
            case ADD_ELEMENT:
            case ADD_FIELD:
                what = R_ADD;
                break;
            case UPDATE_IF:
            case UPDATE_ELEMENT_IF:
            case UPDATE_FIELD_IF:
                what = way == YES ? R_UPDATE : R_READ;
                break;
            case UPDATE_KEY_IF_NULL:
                what = way == NO ? R_UPDATE : R_READ;
                break;
            case UPDATE_KEY_IF:
                what = way == YES ? R_UPDATE : R_READ;
                break;
            case WRITE_IF:
                what = way == YES ? R_WRITE : R_READ;
                break;
            case COMPUTE_KEY:
                what = way == YES || call.changed ? R_UPDATE : R_READ;
                break;
            case INSERT_KEY:
                what = call.changed ? R_UPDATE : R_READ;
                break;
            case MERGE_KEY:
                what = way != THROWS || call.changed ? R_UPDATE : R_READ;
                break;
            default:
                what = R_UPDATE;
                break;
        }
        AtomvetHooks.tellBlocks(t);
        access(what, call.address, call.size, call.place);
    }

    /** All entries of a map whose monitor is held, or those that another map has. */
    private static void accessKeys(AtomvetHooks.T t, Call call) {
        Object map = call.action == WRITE_KEYS_OF ? call.argument : call.object;
        Object inner = map.getClass() == call.object.getClass() ? reference(map, "m") : null;
        map = inner == null ? map : inner;
        if (!(map instanceof java.util.Map) || map.getClass().getClassLoader() != null) {
            // Only the program could tell.
            return;
        }
        AtomvetHooks.tellBlocks(t);
        for (Object key : ((java.util.Map<?, ?>) map).keySet()) {
            long address = key == null ? 0 : Keys.of(call.object, call.address, key);
            if (address != 0) {
                access(call.action == WRITE_KEYS_OF ? R_WRITE : R_UPDATE, address, call.size, call.place);
            }
        }
    }

    /** The first or last entry of a map was taken out. */
    private static void poll(AtomvetHooks.T t, Call call, Object result) {
        Object map = call.view ? viewed(call.object) : call.object;
        Object key = result instanceof java.util.Map.Entry ? ((java.util.Map.Entry<?, ?>) result).getKey() : result;
        long address = Keys.of(map, AtomvetObjects.shared(t, map), key);
        if (address != 0) {
            AtomvetHooks.tellBlocks(t);
            access(R_UPDATE, address, call.size, call.place);
        }
    }

    /** The variable that a call is about; 0 if it is this thread's own. */
    @DontInline
    private static long variable(AtomvetHooks.T t, Call call) {
        Object object = call.view ? viewed(call.object) : call.object;
        if (object == null) {
            return 0;
        }
        if (call.how == BY_HANDLE) {
            return byHandle(t, call);
        }
        if (call.how == BY_OFFSET) {
            return byOffset(t, call, call.argument, call.number);
        }
        int action = call.action;
        if (action >= READ_ELEMENT && action <= ADD_ELEMENT) {
            // The array inside, whose elements have addresses already.
            Object array = reference(object, "array");
            if (array == null || call.number < 0 || call.number >= java.lang.reflect.Array.getLength(array)) {
                return 0;
            }
            return AtomvetObjects.element(t, array, call.number);
        }
        if (action >= READ_FIELD && action <= ADD_FIELD) {
            // The same variable as for the program's own accesses; see resolve() of AtomvetObjects.
            long offset = Fields.find(object.getClass(), "offset");
            if (call.argument == null || offset == 0) {
                return 0;
            }
            return byOffset(t, call, call.argument, U.getLong(object, offset));
        }
        // Whose an object of the JDK is nobody knows: who uses it first need not have made it. Texts are many, and mostly
        // of the one who does.
        long base = object instanceof StringBuffer
            ? AtomvetObjects.baseUnlessOwn(t, object) : AtomvetObjects.shared(t, object);
        if (base == 0) {
            return 0;
        }
        if (action < READ_KEY || action > ADD_FIELD) {
            return base;
        }
        return call.argument == null ? 0 : Keys.of(object, base, call.argument);
    }

    /** The collection that another one is a view of, or whose monitor guards it. */
    private static Object viewed(Object view) {
        Object object = reference(view, "mutex");
        if (object == null) {
            object = reference(view, "map");
        }
        if (object == null) {
            object = reference(view, "m");
        }
        if (object == null) {
            object = reference(view, "this$0");
        }
        return object == null ? view : object;
    }

    /** What a handle is for: a field of the argument, a static field, or an element of the argument. */
    @DontInline
    private static long byHandle(AtomvetHooks.T t, Call call) {
        Object handle = call.object;
        // From JDK 22 on, one that was made before its class was initialised has the other one in it.
        Object target = reference(handle, "target");
        if (target != null) {
            handle = target;
        }
        long where = Fields.find(handle.getClass(), "fieldOffset");
        if (where == 0) {
            return element(t, call, call.argument, call.number);
        }
        Object base = reference(handle, "base");
        return byOffset(t, call, base != null ? base : call.argument, U.getLong(handle, where));
    }

    /** What is at an offset in an object; static fields are in their class. */
    @DontInline
    private static long byOffset(AtomvetHooks.T t, Call call, Object o, long offset) {
        if (o == null) {
            return 0;
        }
        Class<?> type = o.getClass();
        if (type.isArray()) {
            return element(t, call, o, (offset - U.arrayBaseOffset(type)) / U.arrayIndexScale(type));
        }
        AtomvetFields field = AtomvetFields.find(t, o instanceof Class ? (Class<?>) o : type, offset, o instanceof Class);
        call.size = field.size;
        if (field.size == 0 || field.isStatic) {
            return field.address;
        }
        return AtomvetObjects.unsettled(t, o) + field.address;
    }

    /** The same variable as for the program's own accesses; see readElement() of AtomvetHooks. */
    private static long element(AtomvetHooks.T t, Call call, Object array, long index) {
        if (array == null || index < 0 || index >= java.lang.reflect.Array.getLength(array)) {
            return 0;
        }
        call.size = AtomvetObjects.sizeOfElement(array);
        return AtomvetObjects.element(t, array, index);
    }

    /** Variables for entries of maps: one for each map and hash code. */
    private static final class Keys {
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
    }

    // Objects.

    private static final int TASK = 0x5461736b;
    private static final int PERMIT = 0x5065726d;

    /** A number for an object, or for what it hands over. */
    private static long key(Object object, int what) {
        long mixed = System.identityHashCode(object) * 0x9e3779b97f4a7c15L ^ what * 0xc2b2ae3d27d4eb4fL;
        return (mixed ^ mixed >>> 29) & (1L << 47) - 1;
    }

    /** The lock that an object stands for: its synchroniser, which conditions know as well. */
    private static long lock(AtomvetHooks.T t, Object object) {
        Object lock = reference(object, "sync");
        if (lock == null) {
            lock = reference(object, "this$0");
        }
        return AtomvetObjects.shared(t, lock == null ? object : lock);
    }

    /** Semaphores whose first permits are recorded; by identity, so that some may be told twice, which is harmless. */
    private static void permits(AtomvetHooks.T t, Object semaphore) {
        // Who comes second waits until the first has told of them.
        synchronized (AtomvetCalls.class) {
            if (!AtomvetUnnumbered.hasBase(semaphore)) {
                int number = ((java.util.concurrent.Semaphore) semaphore).availablePermits();
                long base = AtomvetObjects.shared(t, semaphore);
                permits(base, number);
            }
        }
    }

    /** What a field of an object of the JDK refers to; null if there is no such field. */
    private static Object reference(Object object, String field) {
        if (object == null) {
            return null;
        }
        long offset = Fields.find(object.getClass(), field);
        return offset == 0 ? null : U.getReference(object, offset);
    }

    /** Where fields are, by class and name. */
    private static final class Fields {
        private final Class<?> type;
        private final String field;
        private final long offset;
        private static final Fields[] KNOWN = new Fields[256];

        private Fields(Class<?> type, String field, long offset) {
            this.type = type;
            this.field = field;
            this.offset = offset;
        }

        static long find(Class<?> type, String field) {
            int at = (System.identityHashCode(type) ^ System.identityHashCode(field)) & KNOWN.length - 1;
            Fields known = KNOWN[at];
            if (known == null || known.type != type || known.field != field) {
                long offset = 0;
                for (Class<?> above = type; above != null && offset == 0; above = above.getSuperclass()) {
                    offset = AtomvetHooks.offset(above, field);
                }
                known = new Fields(type, field, offset);
                KNOWN[at] = known;
            }
            return known.offset;
        }
    }

    // The agent.

    private static native void record(int what, long operand, int site);
    private static native void permits(long base, int number);
    private static native long begin(int what, long address, int size, int site);
    private static native void wasRead(long address);
    private static native void access(int what, long address, int size, int site);
    private static native int describeKey(Class<?> map, String key);
}
