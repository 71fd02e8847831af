// One class, defined by two loaders that know nothing of each other: two threads that use one of the two are not atomic, two
// that use one each are. The argument says which.
import atomvet.steps.Steps;
import java.io.IOException;
import java.io.InputStream;

public class Loaders {
    /** What both loaders define. */
    public static class Counter implements Runnable {
        private static int count;

        public void add() {
            int seen;
            synchronized (Counter.class) {
                seen = count;
            }
            Steps.interlude();
            synchronized (Counter.class) {
                count = seen + 1;
            }
        }

        @Override
        public void run() {
            add();
        }

        @Override
        public String toString() {
            return "count " + count;
        }
    }

    /** Defines the counter itself, and leaves to its parent the interludes only. */
    static class Own extends ClassLoader {
        Own() {
            super(null);
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            if (name.startsWith("atomvet.")) {
                return Loaders.class.getClassLoader().loadClass(name);
            }
            try (InputStream in = Loaders.class.getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException error) {
                throw new ClassNotFoundException(name, error);
            }
        }
    }

    static Runnable counter(ClassLoader loader) throws ReflectiveOperationException {
        return (Runnable) loader.loadClass("Loaders$Counter").getConstructor().newInstance();
    }

    public static void main(String[] arguments) throws Exception {
        Own loader = new Own();
        Runnable one = counter(loader);
        Runnable other = counter(arguments[0].equals("one") ? loader : new Own());
        Steps.run(one, other);
        System.out.println(one + ", " + other);
    }
}
