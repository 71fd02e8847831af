// Starts another JVM with the class and the arguments given, which has its output, and ends as that does.
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

public class Starts {
    public static void main(String[] arguments) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.addAll(Arrays.asList(arguments));
        System.exit(new ProcessBuilder(command).inheritIO().start().waitFor());
    }
}
