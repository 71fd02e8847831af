// expect: violated LazyInitialisationBad$Registry.instance
//
// Tested, then set: two threads get two instances. The field is volatile, so no race detector minds.
//
//   T1: [ r(instance)                              w(instance) ]
//   T2:               [ r(instance) w(instance) ]
import atomvet.steps.Steps;

public class LazyInitialisationBad {
    static class Registry {
        private static volatile Registry instance;

        static Registry instance() {
            if (instance == null) { // begins
                Steps.interlude();
                instance = new Registry(); // returns
            }
            return instance; // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Registry[] got = new Registry[2];
        Steps.run(() -> got[0] = Registry.instance(), () -> got[1] = Registry.instance());
        System.out.println("one instance: " + (got[0] == got[1]) + ", expected true");
    }
}
