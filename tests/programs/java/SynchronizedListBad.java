// expect: violated SynchronizedListBad$Guests.invite
//
// Every call of a synchronized list is atomic; asking first and adding then is not.
//
//   T1: [ contains                        add ]
//   T2:            [ contains add ]
import atomvet.steps.Steps;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

public class SynchronizedListBad {
    static class Guests {
        final List<String> names = Collections.synchronizedList(new ArrayList<>());

        void invite(String name) {
            if (!names.contains(name)) { // begins
                Steps.interlude();
                names.add(name); // returns
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Guests guests = new Guests();
        Steps.run(() -> guests.invite("Ada"), () -> guests.invite("Ada"));
        System.out.println(guests.names.size() + " guests, expected 1");
    }
}
