import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Has the JVM link classes, that is, verify them, without running any of their code, and says what it thinks of each.
 *
 * <p>{@code Link pairs JARS FILE…}: every file has classes before and after rewriting. Prints those that are accepted
 * before and not after. {@code Link names FILE}: links the classes of the JDK that the file names, and prints what is
 * wrong with each that cannot be linked.
 */
public final class Link {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("names")) {
            names(Path.of(arguments[1]));
        } else {
            List<URL> jars = new ArrayList<>();
            for (String jar : Files.readAllLines(Path.of(arguments[1]))) {
                jars.add(new File(jar).toURI().toURL());
            }
            URL[] dependencies = jars.toArray(new URL[0]);
            for (int index = 2; index < arguments.length; index++) {
                pairs(arguments[index], dependencies);
            }
        }
    }

    private static void names(Path file) throws IOException {
        int linked = 0;
        for (String name : Files.readAllLines(file)) {
            String outcome = link(name, ClassLoader.getSystemClassLoader());
            if (outcome.isEmpty()) {
                linked++;
            } else {
                System.out.println("error\t" + name + "\t" + outcome);
            }
        }
        System.out.println("linked\t" + linked);
    }

    private static void pairs(String file, URL[] dependencies) throws IOException {
        Map<String, byte[]> before = new LinkedHashMap<>();
        Map<String, byte[]> after = new LinkedHashMap<>();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
            while (true) {
                String name = new String(block(in), "UTF-8").replace('/', '.');
                byte[] original = block(in);
                byte[] rewritten = block(in);
                before.put(name, original);
                after.put(name, rewritten.length == 0 ? original : rewritten);
            }
        } catch (EOFException end) {
            // All read.
        }
        Map<String, String> baseline = outcomes(before, dependencies);
        Map<String, String> outcomes = outcomes(after, dependencies);
        int linked = 0;
        for (Map.Entry<String, String> entry : outcomes.entrySet()) {
            if (entry.getValue().isEmpty()) {
                linked++;
            } else if (!kind(entry.getValue()).equals(kind(baseline.get(entry.getKey())))) {
                System.out.println("error\t" + entry.getKey() + "\t" + entry.getValue());
            }
        }
        System.out.println("linked\t" + linked);
    }

    private static byte[] block(DataInputStream in) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        return bytes;
    }

    private static Map<String, String> outcomes(Map<String, byte[]> classes, URL[] dependencies) throws IOException {
        Map<String, String> outcomes = new LinkedHashMap<>();
        try (URLClassLoader parent = new URLClassLoader(dependencies, Link.class.getClassLoader())) {
            Loader loader = new Loader(classes, parent);
            for (String name : classes.keySet()) {
                outcomes.put(name, link(name, loader));
            }
        }
        return outcomes;
    }

    /** What is wrong with a class; nothing if it can be linked. */
    private static String link(String name, ClassLoader loader) {
        try {
            // Asking for its constructors links a class and does not initialise it.
            Class.forName(name, false, loader).getDeclaredConstructors();
            return "";
        } catch (Throwable thrown) {
            String message = String.valueOf(thrown.getMessage()).replace('\n', ' ').replace('\t', ' ');
            return thrown.getClass().getName() + ": " + message;
        }
    }

    private static String kind(String outcome) {
        return outcome.split(":", 2)[0];
    }

    /** Defines the classes given, and asks the parent only for others. */
    private static final class Loader extends ClassLoader {
        private final Map<String, byte[]> classes;

        Loader(Map<String, byte[]> classes, ClassLoader parent) {
            super(parent);
            this.classes = classes;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                byte[] bytes = classes.get(name);
                if (bytes == null) {
                    return super.loadClass(name, resolve);
                }
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : defineClass(name, bytes, 0, bytes.length);
            }
        }
    }
}
