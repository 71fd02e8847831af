// expect: clean
//
// The test and the assignment under one lock, and a holder class that the JVM initialises once.
import atomvet.steps.Steps;

public class LazyInitialisationFixed {
    static class Registry {
        private static Registry instance;

        static synchronized Registry instance() {
            if (instance == null) {
                Steps.interludeIfPossible();
                instance = new Registry();
            }
            return instance;
        }
    }

    static class Settings {
        private final int size = 7;

        private static class Holder {
            static final Settings INSTANCE = new Settings();
        }

        static Settings instance() {
            return Holder.INSTANCE;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Registry[] got = new Registry[2];
        int[] sizes = new int[2];
        Steps.run(
                () -> {
                    got[0] = Registry.instance();
                    sizes[0] = Settings.instance().size;
                },
                () -> {
                    got[1] = Registry.instance();
                    sizes[1] = Settings.instance().size;
                });
        System.out.println("one instance: " + (got[0] == got[1]) + ", sizes " + (sizes[0] + sizes[1]));
    }
}
