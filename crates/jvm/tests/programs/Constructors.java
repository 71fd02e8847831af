import java.util.function.Supplier;

public class Constructors {
    static class Base {
        final String name;
        int seen;

        Base(Object name, long padding) {
            this.name = name + "/" + padding;
            seen++;
            note();
        }

        void note() {
            System.out.println("note " + name);
        }
    }

    /** Jumps and other constructors' calls before super(). */
    static class Conditional extends Base {
        private int own = 7;

        Conditional(boolean flag) {
            super(flag ? new StringBuilder(flag ? "a" : new String("b")) : new Object[] {new Exception()}.length, 5L);
            own += 1;
        }

        Conditional(int number) {
            this(number > 3 && number < 10 || number == 50);
            own *= 2;
        }

        Conditional(String text) {
            super(check(text), 1L);
        }

        static String check(String text) {
            if (text == null) {
                throw new IllegalArgumentException("before super");
            }
            return text;
        }
    }

    static class Failing extends Base {
        int value;

        Failing(int value) {
            super("failing", value);
            this.value = value;
            if (value > 1) {
                throw new IllegalStateException("after super " + this.value);
            }
            for (int round = 0; round < value; round++) {
                this.value += round;
            }
        }
    }

    /** Captured variables are written into fields before super(). */
    Supplier<String> captures(int number, String text, double wide) {
        class Local extends Base implements Supplier<String> {
            Local() {
                super(text, number);
            }

            public String get() {
                return text + number + wide + Constructors.this.getClass().getSimpleName() + seen;
            }
        }
        return new Local();
    }

    class Inner {
        class Innermost {
            Constructors outer() {
                return Constructors.this;
            }
        }
    }

    public static void main(String[] arguments) {
        System.out.println(new Conditional(true).own + new Conditional(false).own + new Conditional(4).own);
        System.out.println(new Conditional("text").own);
        try {
            new Conditional((String) null);
        } catch (IllegalArgumentException thrown) {
            System.out.println(thrown.getMessage());
        }
        System.out.println(new Failing(1).value);
        try {
            new Failing(2);
        } catch (IllegalStateException thrown) {
            System.out.println(thrown.getMessage());
        }
        Constructors constructors = new Constructors();
        System.out.println(constructors.captures(3, "text", 2.5).get());
        System.out.println(constructors.new Inner().new Innermost().outer() == constructors);
        Base anonymous = new Base("anonymous", 0) {
            int more = 3;

            @Override
            void note() {
                System.out.println("more " + more);
            }
        };
        System.out.println(anonymous.seen);
    }
}
