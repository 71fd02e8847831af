// expect: violated InitialisesAnotherBad.check
//
// The initialiser of one class writes a static field of another, which threads use already.
//
//   T1: [ r(version)                                     r(version) ]
//   T2:              initialises Plugin: w(version)
import atomvet.steps.Steps;

public class InitialisesAnotherBad {
    static volatile int version = 1;

    static class Plugin {
        static void load() {}

        static {
            version = 2;
        }
    }

    static class Base {
        static volatile int inherited = 1;
    }

    static class Extension extends Base {
        static void load() {}

        static {
            inherited = 2;
        }
    }

    static boolean check() {
        int first = version + Base.inherited; // begins
        Steps.interlude();
        return first == version + Base.inherited; // returns
    }

    public static void main(String[] arguments) throws InterruptedException {
        Steps.run(() -> System.out.println(check()), () -> Plugin.load());
        Steps.run(() -> System.out.println(check()), () -> Extension.load());
    }
}
