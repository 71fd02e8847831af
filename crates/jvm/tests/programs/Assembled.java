/** Stands for what no compiler of today writes: the test puts other code into these bodies. */
public class Assembled {
    static class Base {
        final int number;

        Base(int number) {
            this.number = number;
        }
    }

    /** Gets two calls of super(), on two ways. */
    static class Forked extends Base {
        int after;

        Forked(boolean flag) {
            super(flag ? 1 : 2);
            after = 7;
        }
    }

    /** Gets version 48, which has subroutines, no frames, and no way to push a class. */
    static class Old {
        static int count;
        int field;

        static int subroutine(int number) {
            count += 1;
            count += 1;
            return number + 2;
        }

        static synchronized int locked(int number) {
            return number + count;
        }

        Old(int number) {
            super();
            field = number;
        }
    }

    public static void main(String[] arguments) {
        Forked one = new Forked(true);
        Forked two = new Forked(false);
        System.out.println(one.number + " " + one.after + " " + two.number + " " + two.after);
        System.out.println(Old.subroutine(5) + " " + Old.count + " " + Old.locked(3) + " " + new Old(4).field);
    }
}
