// expect: clean
//
// Whoever comes first initialises a class, whatever the block; that is not the block's doing. Without that, the first
// transfer would have to come before the second, which finds the class initialised, and after it, by the lock:
//
//   T1: [ initialises: w(limit)                            acq(lock) rel(lock) ]
//   T2:                          [ r(limit) acq(lock) rel(lock) ]
import atomvet.steps.Steps;

public class ClassInitialiser {
    static class Settings {
        static int limit;
        static int loaded;

        static {
            load();
        }

        static void load() {
            limit = 10;
            loaded = Later.number + 1;
        }
    }

    /** Initialised by an initialiser. */
    static class Later {
        static int number = count();

        static int count() {
            number = 2;
            return number + 1;
        }
    }

    private int total;

    void transfer() {
        int limit = Settings.limit;
        Steps.interlude();
        synchronized (this) {
            total += limit + Later.number;
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        ClassInitialiser account = new ClassInitialiser();
        Steps.run(account::transfer, account::transfer);
        System.out.println("total " + account.total + ", loaded " + Settings.loaded);
    }
}
