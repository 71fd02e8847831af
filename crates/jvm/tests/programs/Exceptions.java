public class Exceptions {
    int number;
    long wide;
    Exceptions next;
    static int statics;

    static class Broken {
        static int value = Integer.parseInt("x");
    }

    interface Body {
        void run() throws Throwable;
    }

    static void attempt(String name, Body body) {
        try {
            body.run();
            System.out.println(name + " ends");
        } catch (Throwable thrown) {
            // The line shows that the line numbers still fit, the message that the JVM still understands the code.
            System.out.println(name + " " + thrown + " " + thrown.getStackTrace()[0]);
        }
    }

    static int finallyReturns() {
        try {
            statics++;
            throw new IllegalStateException("lost");
        } finally {
            return 5;
        }
    }

    static int nested(int depth) throws Exception {
        try {
            try {
                if (depth == 0) {
                    throw new Exception("inner");
                }
                return nested(depth - 1);
            } catch (RuntimeException never) {
                return -1;
            } finally {
                statics += depth;
            }
        } catch (Exception thrown) {
            if (depth == 2) {
                return 42;
            }
            throw new Exception("outer " + depth, thrown);
        }
    }

    static synchronized void leaves(Object value) {
        statics++;
        value.hashCode();
    }

    public static void main(String[] arguments) {
        Exceptions none = null;
        Exceptions some = new Exceptions();
        int[] ints = new int[2];
        long[] longs = null;
        Object[] strings = new String[1];
        attempt("read", () -> System.out.println(none.number));
        attempt("read wide", () -> System.out.println(none.wide));
        attempt("write", () -> none.number = 1);
        attempt("write wide", () -> none.wide = 1);
        attempt("write reference", () -> none.next = some);
        attempt("chain", () -> some.next.next = none);
        attempt("element", () -> System.out.println(ints[2]));
        attempt("negative element", () -> ints[-1] = 7);
        attempt("no array", () -> longs[0]++);
        attempt("store", () -> strings[0] = 5);
        attempt("good store", () -> strings[0] = "five");
        attempt("initialiser", () -> System.out.println(Broken.value));
        attempt("initialiser again", () -> Broken.value = 3);
        attempt("monitor", () -> { synchronized (none) { statics++; } });
        attempt("finally", () -> System.out.println(finallyReturns()));
        attempt("nested", () -> System.out.println(nested(3)));
        attempt("nested out", () -> System.out.println(nested(1)));
        attempt("leaves", () -> leaves(null));
        System.out.println(statics);
    }
}
