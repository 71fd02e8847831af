public class Slots {
    byte b;
    boolean z;
    char c;
    short s;
    int i;
    long j;
    float f;
    double d;
    Object o;
    volatile long v;
    final int constant = Integer.parseInt("3");
    static byte sb;
    static boolean sz;
    static char sc;
    static short ss;
    static int si;
    static long sj;
    static float sf;
    static double sd;
    static Object so;

    /** One read and one write of each. */
    void fields() {
        b += 1;
        z ^= true;
        c += 'c';
        s -= 4;
        i |= 5;
        j += 6L;
        f *= 7f;
        d += 8d;
        o = o == null ? "nine" : o;
        v += constant;
    }

    static void statics() {
        sb += 1;
        sz ^= true;
        sc += 'c';
        ss -= 4;
        si |= 5;
        sj += 6L;
        sf += 7f;
        sd += 8d;
        so = so == null ? "nine" : so;
    }

    /** Two writes and one read of each. */
    static double elements() {
        byte[] bytes = {1};
        boolean[] booleans = {true};
        char[] chars = {'c'};
        short[] shorts = {4};
        int[] ints = {5};
        long[] longs = {6};
        float[] floats = {7};
        double[] doubles = {8};
        String[] strings = {"nine"};
        bytes[0] += 1;
        booleans[0] ^= true;
        chars[0] += 1;
        shorts[0] += 1;
        ints[0] += 1;
        longs[0] += 1;
        floats[0] += 1;
        doubles[0] += 1;
        strings[0] += "!";
        return bytes[0] + (booleans[0] ? 1 : 2) + chars[0] + shorts[0] + ints[0] + longs[0] + floats[0] + doubles[0]
                + strings[0].length();
    }

    /** An operand stack that is deep and of mixed widths when the elements are written. */
    static long deep(long first, double second, int third) {
        long[][] table = new long[2][3];
        table[1][2] = first + (table[0][1] = (long) second + (table[1][0] = third + (table[0][0] = 9)));
        return table[1][2] + table[0][1] * table[1][0];
    }

    static int many(int a0, long a1, double a2, int a3, long a4) {
        int v5 = a0, v6 = a3, v7 = 7, v8 = 8;
        for (int index = 0; index < 300; index++) {
            v7 += index;
            if (v7 > 1000) {
                v7 -= (int) a1 + v8;
                continue;
            }
            v8 += v5 + v6;
        }
        return (int) (v7 + v8 + a2 + a4);
    }

    public static void main(String[] arguments) {
        Slots slots = new Slots();
        slots.fields();
        statics();
        System.out.println(slots.b + " " + slots.z + slots.c + slots.s + slots.i + slots.j + slots.f + slots.d + slots.o + slots.v);
        System.out.println(sb + " " + sz + sc + ss + si + sj + sf + sd + so);
        System.out.println(elements());
        System.out.println(deep(1, 2.5, 3));
        System.out.println(many(1, 2, 3.5, 4, 5));
    }
}
