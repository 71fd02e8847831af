/** Hooks that do nothing: the package is put before when it is compiled. */
public final class Hooks {
    public static void read(Object object, int site) {}

    public static void readByCall(Object object, int site) {}

    public static void write(Object object, int site) {}

    public static void write(Object object, Object value, int site) {}

    public static void readStatic(int site) {}

    public static void writeStatic(int site) {}

    public static void writeStatic(Object value, int site) {}

    public static void readElement(int[] array, int index, int site) {}

    public static void readElement(long[] array, int index, int site) {}

    public static void readElement(float[] array, int index, int site) {}

    public static void readElement(double[] array, int index, int site) {}

    public static void readElement(Object[] array, int index, int site) {}

    public static void readElement(Object array, int index, int site) {}

    public static void readElement(char[] array, int index, int site) {}

    public static void readElement(short[] array, int index, int site) {}

    public static void writeElement(int[] array, int index, int site) {}

    public static void writeElement(long[] array, int index, int site) {}

    public static void writeElement(float[] array, int index, int site) {}

    public static void writeElement(double[] array, int index, int site) {}

    public static void writeElement(Object[] array, int index, Object value, int site) {}

    public static void writeElement(Object array, int index, int site) {}

    public static void writeElement(char[] array, int index, int site) {}

    public static void writeElement(short[] array, int index, int site) {}

    public static void accessed() {}

    public static void acquired(Object object, int site) {}

    public static void releasing(Object object, int site) {}

    public static void enterSynchronized(Object object, int site) {}

    public static void exitSynchronized(int site) {}

    public static void enter(int site) {}

    public static void exit(int site) {}

    public static void enterCall(Object object, int site) {}

    public static void exitCall(int site) {}

    public static void exitCall(Object result, int site) {}

    public static void exitCall(boolean result, int site) {}

    public static void throwCall(int site) {}
}
