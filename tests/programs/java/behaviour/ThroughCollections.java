//
// Objects that one thread has made and others get from the JDK's classes, where nobody sees them being stored.
//
//   T1: [ r(value)             w(value) ]
//   T2:             w(value)
import atomvet.steps.Steps;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;

public class ThroughCollections {
    static class Box {
        volatile int value;
    }

    private static final List<Box> LIST = new ArrayList<>();
    private static final AtomicReference<Box> REFERENCE = new AtomicReference<>(new Box());
    private static final ConcurrentHashMap<String, Box> MAP = new ConcurrentHashMap<>();
    private static final Optional<Box> OPTIONAL = Optional.of(new Box());
    private static final StringBuffer[] FIELD = {new StringBuffer()};

    static void byList() {
        int old = LIST.get(0).value;
        Steps.interlude();
        LIST.get(0).value = old + 1;
    }

    static void byReference() {
        int old = REFERENCE.get().value;
        Steps.interlude();
        REFERENCE.get().value = old + 1;
    }

    static void byMap() {
        int old = MAP.get("box").value;
        Steps.interlude();
        MAP.get("box").value = old + 1;
    }

    static void byOptional() {
        int old = OPTIONAL.get().value;
        Steps.interlude();
        OPTIONAL.get().value = old + 1;
    }

    static void byField() {
        int length = FIELD[0].length();
        Steps.interlude();
        FIELD[0].append(length);
    }

    public static void main(String[] arguments) throws InterruptedException {
        LIST.add(new Box());
        MAP.put("box", new Box());
        Steps.run(ThroughCollections::byList, () -> LIST.get(0).value = 5);
        Steps.run(ThroughCollections::byReference, () -> REFERENCE.get().value = 5);
        Steps.run(ThroughCollections::byMap, () -> MAP.get("box").value = 5);
        Steps.run(ThroughCollections::byOptional, () -> OPTIONAL.get().value = 5);
        Steps.run(ThroughCollections::byField, () -> FIELD[0].append("other"));
        System.out.println(LIST.get(0).value + " " + REFERENCE.get().value + " " + MAP.get("box").value + " "
            + OPTIONAL.get().value + " " + FIELD[0]);
    }
}
