import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.Instrumentation;
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
 * before and not after, or rejected for another reason. {@code Link mutants …}: the same, but for the reason. {@code Link redefine FILE}, as an agent: puts the rewritten classes in the place of the JDK's own
 * that run it, and prints those for which that is not possible.
 */
public final class Link {
    private static Instrumentation instrumentation;

    public static void premain(String arguments, Instrumentation given) {
        instrumentation = given;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("redefine")) {
            redefine(arguments[1]);
            return;
        }
        List<URL> jars = new ArrayList<>();
        for (String jar : Files.readAllLines(Path.of(arguments[1]))) {
            jars.add(new File(jar).toURI().toURL());
        }
        URL[] dependencies = jars.toArray(new URL[0]);
        for (int index = 2; index < arguments.length; index++) {
            pairs(arguments[index], dependencies, arguments[0].equals("mutants"));
        }
    }

    /** Puts rewritten classes in the place of the JVM's own, which runs on with them. */
    private static void redefine(String file) throws Exception {
        Map<String, byte[]> before = new LinkedHashMap<>();
        Map<String, byte[]> after = new LinkedHashMap<>();
        read(file, before, after);
        List<ClassDefinition> batch = new ArrayList<>();
        int redefined = 0;
        for (Map.Entry<String, byte[]> entry : after.entrySet()) {
            String name = entry.getKey();
            if (link(name, ClassLoader.getSystemClassLoader()).isEmpty()) {
                Class<?> found = Class.forName(name, false, ClassLoader.getSystemClassLoader());
                batch.add(new ClassDefinition(found, entry.getValue()));
            } else {
                System.out.println("not linked as it is\t" + name);
            }
            if (batch.size() == 500) {
                redefined += redefine(batch, before);
                batch.clear();
            }
        }
        redefined += redefine(batch, before);
        System.out.println("linked\t" + redefined);
    }

    private static int redefine(List<ClassDefinition> batch, Map<String, byte[]> before) {
        if (batch.isEmpty()) {
            return 0;
        }
        try {
            instrumentation.redefineClasses(batch.toArray(new ClassDefinition[0]));
            return batch.size();
        } catch (Throwable thrown) {
            if (batch.size() > 1) {
                int half = batch.size() / 2;
                return redefine(batch.subList(0, half), before)
                        + redefine(batch.subList(half, batch.size()), before);
            }
            Class<?> one = batch.get(0).getDefinitionClass();
            try {
                instrumentation.redefineClasses(new ClassDefinition(one, before.get(one.getName())));
                System.out.println("error\t" + one.getName() + "\t" + thrown);
            } catch (Throwable also) {
                System.out.println("not redefined as it is\t" + one.getName() + "\t" + also);
            }
            return 0;
        }
    }

    private static void pairs(String file, URL[] dependencies, boolean mutants) throws IOException {
        Map<String, byte[]> before = new LinkedHashMap<>();
        Map<String, byte[]> after = new LinkedHashMap<>();
        read(file, before, after);
        Map<String, String> baseline = outcomes(before, dependencies);
        Map<String, String> outcomes = outcomes(after, dependencies);
        int linked = 0;
        for (Map.Entry<String, String> entry : outcomes.entrySet()) {
            String expected = baseline.get(entry.getKey());
            if (entry.getValue().isEmpty()) {
                linked++;
            } else if (expected.isEmpty() || !mutants && !kind(entry.getValue()).equals(kind(expected))) {
                System.out.println("error\t" + entry.getKey() + "\t" + entry.getValue());
            }
        }
        System.out.println("linked\t" + linked);
    }

    private static void read(String file, Map<String, byte[]> before, Map<String, byte[]> after) throws IOException {
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
