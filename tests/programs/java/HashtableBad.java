// expect: violated HashtableBad$Names.register
//
// A table whose methods are all synchronized, and a composite of two of them.
//
//   T1: [ containsKey                            put ]
//   T2:               [ containsKey put ]
import atomvet.steps.Steps;
import java.util.Hashtable;

public class HashtableBad {
    static class Names {
        final Hashtable<String, String> owners = new Hashtable<>();

        boolean register(String name, String owner) {
            if (owners.containsKey(name)) { // begins
                return false;
            }
            Steps.interlude();
            owners.put(name, owner); // returns
            return true;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Names names = new Names();
        boolean[] registered = new boolean[2];
        Steps.run(() -> registered[0] = names.register("atom", "first"), () -> registered[1] = names.register("atom", "second"));
        System.out.println("both registered: " + (registered[0] && registered[1]) + ", expected false");
    }
}
