import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntSupplier;

/** Interfaces, records, enums, nested classes, lambdas, generics, type annotations. */
public class Shapes {
    @Target(ElementType.TYPE_USE)
    @Retention(RetentionPolicy.RUNTIME)
    @interface Checked {
        String[] value() default {};
    }

    interface Shape {
        List<String> SEEN = new ArrayList<>();

        double area();

        default String describe() {
            SEEN.add(name());
            return name() + " " + round(area());
        }

        private String name() {
            return getClass().getSimpleName();
        }

        static double round(double value) {
            return Math.round(value * 10) / 10d;
        }
    }

    record Circle(double radius) implements Shape {
        static int made;

        Circle {
            if (radius < 0) {
                throw new IllegalArgumentException("negative");
            }
            made++;
        }

        public double area() {
            return Math.PI * radius * radius;
        }
    }

    record Pair<A, B>(A first, B second) {}

    enum Planet implements Shape {
        EARTH(2) {
            @Override
            int moons() {
                return ++visits;
            }
        },
        MARS(1);

        final double size;
        static int visits;

        Planet(double size) {
            this.size = size;
        }

        int moons() {
            visits += 2;
            return visits;
        }

        public double area() {
            return size;
        }
    }

    private int total;

    private IntSupplier counter(int step) {
        return () -> total += step;
    }

    static <T, R> List<R> map(List<T> list, Function<? super T, ? extends R> function) {
        List<R> result = new ArrayList<>();
        for (T element : list) {
            result.add(function.apply(element));
        }
        return result;
    }

    static String annotated(Object value) {
        @Checked("local") String text = "none";
        if (value instanceof @Checked String string && !string.isEmpty()) {
            text = string;
        }
        try {
            Object made = new @Checked({"a", "b"}) ArrayList<@Checked String>();
            return text + (@Checked("cast") List<?>) made;
        } catch (@Checked("caught") RuntimeException thrown) {
            return "never";
        }
    }

    public static void main(String[] arguments) {
        List<Shape> shapes = List.of(new Circle(1), Planet.EARTH, Planet.MARS);
        System.out.println(map(shapes, Shape::describe));
        System.out.println(Shape.SEEN);
        System.out.println(Planet.EARTH.moons() + Planet.MARS.moons() + Planet.valueOf("MARS").ordinal());
        try {
            new Circle(-1);
        } catch (IllegalArgumentException thrown) {
            System.out.println(thrown.getMessage() + Circle.made);
        }
        System.out.println(new Pair<>("one", 2L) + " " + new Pair<>(null, 'c').equals(new Pair<>(null, 'c')));
        Shapes own = new Shapes();
        IntSupplier counter = own.counter(5);
        System.out.println(counter.getAsInt() + counter.getAsInt() + own.total);
        System.out.println(annotated("text") + annotated(7));
        StringBuilder order = new StringBuilder();
        outer:
        for (int row = 0; ; row++) {
            for (int column = 0; column < 4; column++) {
                if (column == row) {
                    continue outer;
                }
                if (row == 5) {
                    break outer;
                }
                order.append(row).append(column).append(' ');
            }
        }
        System.out.println(order);
    }
}
