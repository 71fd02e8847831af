// expect: clean
//
// The list's own lock, which is the list itself, over both calls.
import atomvet.steps.Steps;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

public class SynchronizedListFixed {
    static class Guests {
        final List<String> names = Collections.synchronizedList(new ArrayList<>());

        void invite(String name) {
            synchronized (names) {
                if (!names.contains(name)) {
                    Steps.interludeIfPossible();
                    names.add(name);
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Guests guests = new Guests();
        Steps.run(() -> guests.invite("Ada"), () -> guests.invite("Ada"));
        System.out.println(guests.names.size() + " guests, expected 1");
    }
}
