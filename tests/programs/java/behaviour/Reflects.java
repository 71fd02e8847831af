// What reflection shows of the fields of classes and of serial forms.
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.Arrays;

public class Reflects implements Serializable {
    private int balance;
    protected String owner;

    static class Empty {}

    static class Special extends Reflects {
        double interest;
    }

    record Pair(int first, int second) {}

    enum Kind { ONE, TWO }

    public static void main(String[] arguments) throws Exception {
        for (Class<?> type : new Class<?>[] {Reflects.class, Empty.class, Special.class, Pair.class, Kind.class}) {
            for (Field field : type.getDeclaredFields()) {
                System.out.println(field);
            }
            System.out.println(type + " " + Arrays.toString(type.getFields()));
        }
        System.out.println(ObjectStreamClass.lookup(Reflects.class).getSerialVersionUID());
        System.out.println(Arrays.toString(ObjectStreamClass.lookup(Special.class).getFields()));
        try {
            System.out.println(Reflects.class.getDeclaredField("$atomvet"));
        } catch (NoSuchFieldException none) {
            System.out.println("none");
        }
        Thread thread = new Thread(() -> System.out.println(new Special().interest));
        thread.start();
        thread.join();
    }
}
