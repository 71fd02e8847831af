package java.lang;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * What watched methods of the JDK call: see juc.rs, whose table says which methods they are, whose calls count, and which
 * action each call is. The word of a site has the action, who may call, whether the method is synchronized, and the number
 * of its name.
 *
 * What a thread gives to others is recorded when the call begins, what it gets when it returns, so that the order of
 * records never says more than the order of what happened. A variable's stripe is held in between, as for fields; for entries of a map
 * that of the map, whose set of keys is a variable, too. A function of the program's runs without it: see applying().
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
    private static final int BY_ELEMENT = 1 << 15;
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
    private static final int READ_KEYS = 61;
    private static final int PEEK_KEY = 62;
    private static final int UNSEEN = 63;

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
        Object argument;
        final long number;
        final int site;
        /** Where the program made it, or else the site itself. */
        final int place;
        int action;
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
        /** The map that the call is about, its own variable, which stands for its set of keys, and whether it got or lost a key. */
        Object owner;
        long map;
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
            return action == WRITE_IF || action >= WRITE_KEY && action <= MERGE_KEY;
        }

        /** Whether a function of the program's tells what is written, and the variable is held but for that. */
        boolean isByFunction() {
            return pending && !inside && (action == UPDATE_BY || action >= COMPUTE_KEY && action <= MERGE_KEY);
        }

        /** What is held until the call is over. */
        long held() {
            return map != 0 ? map : address;
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
        boolean isPart = call != null && call.action == SEVERAL && isPart(call, object, word);
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
                if ((word & ACTION) == KEY_CHANGED && call.owner == object) {
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
            call.owner = call.view ? viewed(object) : object;
            if (call.action >= FIRST_ACCESS) {
                begin(t, call, word);
            } else {
                give(t, call);
            }
        } finally {
            t.busy = false;
        }
    }

    /** Whether a method of this object is one that another call is made of: of the same collection, or of a view of it. */
    private static boolean isPart(Call call, Object object, int word) {
        return call.object == object || call.owner == object || (word & VIEW) != 0 && viewed(object) == call.owner;
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
                    if (call.inside && !call.changed && call.owner instanceof java.util.Hashtable) {
                        call.changed = call.keys != keys(call.owner);
                    }
                    access(t, call, way);
                } else if (call.action == POLL_KEY || call.action == PEEK_KEY) {
                    found(t, call, result);
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
                    AtomvetHooks.holds(t, begin(NEITHER, call.held(), call.size, call.place));
                    call.inside = true;
                    call.keys = keys(call.owner);
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
                call.changed = call.keys < 0 || call.keys != keys(call.owner);
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

    // Functions of the program's, by which a call changes a variable. They may do anything, and wait for anybody: nothing is held meanwhile.

    public static void applying() {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t != null && !t.busy && t.call != null && t.call.isByFunction()) {
            AtomvetHooks.finish(t);
        }
    }

    /** The variable is held again up to when it is changed. */
    public static void applied() {
        AtomvetHooks.T t = AtomvetHooks.t();
        if (t == null || t.busy || t.call == null || !t.call.isByFunction()) {
            return;
        }
        Call call = t.call;
        t.busy = true;
        try {
            AtomvetHooks.finish(t);
            AtomvetHooks.tellBlocks(t);
            long held = holdOrHolder(call.held());
            while (held < 0 && !AtomvetHooks.isBlocked(-held)) {
                Thread.yield();
                held = holdOrHolder(call.held());
            }
            if (held > 0) {
                AtomvetHooks.holds(t, held);
            } else {
                // Who has it waits for a lock inside of the map that this thread has, and comes after it.
                access(t, call, YES);
            }
        } finally {
            t.busy = false;
        }
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
        if (call.action == SEVERAL) {
            return;
        }
        if ((word & BY_ELEMENT) != 0 && call.owner instanceof java.util.Map) {
            tellElement(call);
        }
        boolean isByKey = call.action >= READ_KEY && call.action <= MERGE_KEY;
        if (call.action == UNSEEN || call.view && !isByKey && isPartOfMap(call.object)) {
            call.action = UNSEEN;
            unseen(call.object.getClass(), word >>> NAME_SHIFT);
            return;
        }
        long address = variable(t, call);
        if (address == 0) {
            return;
        }
        call.address = address;
        if (call.action == POLL_KEY || call.action == PEEK_KEY) {
            // Which key it is will be known when it returns.
            AtomvetHooks.tellBlocks(t);
            AtomvetHooks.holds(t, begin(NEITHER, address, call.size, call.place));
            return;
        }
        call.pending = true;
        if ((word & MONITORED) != 0) {
            if ((word & SYNCHRONIZED) != 0 && call.isConditional()) {
                // It ends before the monitor is left.
                call.inside = true;
                call.keys = keys(call.owner);
            } else if ((word & SYNCHRONIZED) != 0) {
                access(t, call, YES);
            }
        } else if (call.action == READ_ELEMENT && (word & BRIEF) != 0) {
            // Nothing that it returns makes a difference.
            call.pending = false;
            AtomvetHooks.read(t, address, call.size, call.place);
        } else {
            AtomvetHooks.tellBlocks(t);
            AtomvetHooks.holds(t, begin(again(call, word), call.held(), call.size, call.place));
            // If nothing is held there is nothing left to record, unless it is no write after all.
            call.again = AtomvetHooks.isUnderWayAlone(t);
            call.pending = !call.again || call.action == UPDATE_IF || call.action == UPDATE_ELEMENT_IF;
            if (call.action == READ_KEYS || call.action == UPDATE_KEYS) {
                // Up to its end, functions of the program's may run, and nothing is held.
                access(t, call, YES);
            }
        }
    }

    /** A call on a view of a map with a monitor is about the key, the entry or the value that is its argument. */
    private static void tellElement(Call call) {
        Object view = reference(call.object, "c");
        String name = view == null ? "" : view.getClass().getName();
        if (name.endsWith("EntrySet")) {
            boolean isEntry = call.argument instanceof java.util.Map.Entry;
            call.argument = isEntry ? ((java.util.Map.Entry<?, ?>) call.argument).getKey() : null;
        }
        boolean reads = call.action == READ;
        if (name.endsWith("EntrySet") || name.endsWith("KeySet")) {
            call.action = reads ? READ_KEY : UPDATE_KEY_IF;
        } else {
            call.action = reads ? READ_KEYS : UNSEEN;
        }
    }

    /**
     * What a call records if nobody else has used its variable lately, and if it writes; NEITHER if that is not to be asked: the program's own code
     * would end the access before it is made.
     */
    private static int again(Call call, int word) {
        if ((word & BRIEF) == 0 || call.how != 0 || call.action > ADD_ELEMENT || call.action == UPDATE_BY) {
            return NEITHER;
        }
        return call.action == WRITE || call.action == WRITE_ELEMENT ? R_WRITE : R_UPDATE;
    }

    private static void access(AtomvetHooks.T t, Call call, int way) {
        call.pending = false;
        if (call.action == UPDATE_KEYS || call.action == WRITE_KEYS_OF || call.action == READ_KEYS) {
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
        if (call.map != 0 && call.changed) {
            access(R_ADD, call.map, 8, call.place);
        }
    }

    /** All entries of a map whose monitor or stripe is held, or those that another map has; and its set of keys, if it changes or is read. */
    private static void accessKeys(AtomvetHooks.T t, Call call) {
        Object own = inner(call.owner);
        Object map = call.action == WRITE_KEYS_OF ? inner(call.argument) : own;
        AtomvetHooks.tellBlocks(t);
        if (call.action == READ_KEYS) {
            access(R_READ, call.address, 8, call.place);
        }
        if (!isOfJdk(map) || call.action == READ_KEYS && isSetOfKeys(call.object)) {
            // Only the program could tell, or that is all.
            return;
        }
        int what = call.action == READ_KEYS ? R_READ : call.action == WRITE_KEYS_OF ? R_WRITE : R_UPDATE;
        // That of values leaves the keys as they are.
        boolean changes = call.action == UPDATE_KEYS && call.argument == null;
        for (Object key : ((java.util.Map<?, ?>) map).keySet()) {
            long address = key == null ? 0 : AtomvetKeys.of(call.owner, call.address, key);
            if (address != 0) {
                access(what, address, call.size, call.place);
            }
            changes |= what == R_WRITE && isOfJdk(own) && !((java.util.Map<?, ?>) own).containsKey(key);
        }
        if (changes) {
            access(what == R_WRITE ? R_ADD : R_WRITE, call.address, 8, call.place);
        }
    }

    /** The map that a synchronized one guards. */
    private static Object inner(Object map) {
        Object inner = map instanceof java.util.concurrent.ConcurrentMap ? null : reference(map, "m");
        return inner == null ? map : inner;
    }

    private static boolean isOfJdk(Object map) {
        return map instanceof java.util.Map && map.getClass().getClassLoader() == null;
    }

    private static boolean isSetOfKeys(Object view) {
        return view instanceof java.util.concurrent.ConcurrentHashMap.KeySetView || view instanceof java.util.NavigableSet;
    }

    /** The first or last entry of a map, or one beside a key, was looked for: that depends on its set of keys. Or it was taken out. */
    private static void found(AtomvetHooks.T t, Call call, Object result) {
        boolean polls = call.action == POLL_KEY && result != null;
        Object key = result instanceof java.util.Map.Entry ? ((java.util.Map.Entry<?, ?>) result).getKey() : result;
        long address = key == null || call.address == 0 ? 0 : AtomvetKeys.of(call.owner, call.address, key);
        AtomvetHooks.tellBlocks(t);
        if (call.address != 0) {
            access(polls ? R_ADD : R_READ, call.address, 8, call.place);
        }
        if (address != 0) {
            access(polls ? R_UPDATE : R_READ, address, call.size, call.place);
        }
    }

    /** The variable that a call is about; 0 if it is this thread's own. */
    @DontInline
    private static long variable(AtomvetHooks.T t, Call call) {
        Object object = call.owner;
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
        call.map = base;
        return call.argument == null ? 0 : AtomvetKeys.of(object, base, call.argument);
    }

    /** The collection that another one is a view of, or whose monitor guards it. */
    private static Object viewed(Object view) {
        Object object = view;
        // A view of a part of a view of a map.
        for (int steps = 0; steps < 4 && object != null; steps++) {
            Object next = reference(object, "mutex");
            next = next == null ? reference(object, "map") : next;
            next = next == null ? reference(object, "m") : next;
            next = next == null ? reference(object, "this$0") : next;
            if (next == null || next == object) {
                return object;
            }
            object = next;
        }
        return object;
    }

    /** Whether a set or view has not all keys of a map. */
    private static boolean isPartOfMap(Object view) {
        Object map = reference(view, "m");
        return map != null && map.getClass().getName().endsWith("$SubMap");
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
    private static native long holdOrHolder(long address);
    private static native void unseen(Class<?> type, int name);
}
