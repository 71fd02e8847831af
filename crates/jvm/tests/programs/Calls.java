/** Calls that are watched: on an object, static, with results of all kinds, and those that throw. */
public class Calls {
    synchronized boolean tryLock(long time) {
        return time > 3;
    }

    Object self() {
        return this;
    }

    static double number(Calls calls, double value) {
        return value / 2;
    }

    static int[] array(int size) {
        return size == 0 ? null : new int[size];
    }

    long stamp() {
        return 77;
    }

    int twice(int number) {
        return 2 * number;
    }

    void fails(String why) {
        throw new IllegalStateException(why);
    }

    static int at(Object handle, int[] array, int index) {
        return array[index];
    }

    Object offset(Calls other, long offset, Object value) {
        return offset == 8 ? other : value;
    }

    public static void main(String[] arguments) {
        Calls calls = new Calls();
        System.out.println(calls.tryLock(3) + " " + calls.tryLock(4) + " " + (calls.self() == calls));
        System.out.println(calls.twice(21) + calls.stamp());
        System.out.println(number(calls, 5) + " " + array(0) + " " + array(-0 + 2).length);
        System.out.println(at(calls, new int[] {1, 2, 3}, 2) + " " + calls.offset(null, 8, ""));
        try {
            calls.fails("why");
        } catch (IllegalStateException thrown) {
            System.out.println(thrown.getMessage());
        }
    }
}
