// Another agent, in Java: sees every class that is loaded, changes none, and has one transformed once more.
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

public class OtherAgent {
    private static int transformed;

    public static void premain(String argument, Instrumentation instrumentation) throws Exception {
        ClassFileTransformer transformer = new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] file) {
                if ("Ends".equals(name)) {
                    transformed++;
                    return file;
                }
                return null;
            }
        };
        instrumentation.addTransformer(transformer, true);
        instrumentation.retransformClasses(Class.forName("Ends"));
        System.out.println("transformed " + transformed + " times");
    }
}
