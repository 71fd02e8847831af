// expect: clean
//
// One call, or the table's own lock over two.
import atomvet.steps.Steps;
import java.util.Hashtable;

public class HashtableFixed {
    static class Names {
        final Hashtable<String, String> owners = new Hashtable<>();

        boolean register(String name, String owner) {
            synchronized (owners) {
                if (owners.containsKey(name)) {
                    return false;
                }
                Steps.interludeIfPossible();
                owners.put(name, owner);
                return true;
            }
        }

        boolean registerInOneCall(String name, String owner) {
            return owners.putIfAbsent(name, owner) == null;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Names names = new Names();
        boolean[] registered = new boolean[4];
        Steps.run(
                () -> {
                    registered[0] = names.register("atom", "first");
                    registered[2] = names.registerInOneCall("block", "first");
                },
                () -> {
                    registered[1] = names.register("atom", "second");
                    registered[3] = names.registerInOneCall("block", "second");
                });
        System.out.println("both registered: " + (registered[0] && registered[1]) + ", expected false");
        System.out.println("both registered: " + (registered[2] && registered[3]) + ", expected false");
    }
}
