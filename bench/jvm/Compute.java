import java.util.ArrayList;
import java.util.List;

/**
 * Much computing and hardly any synchronisation: two threads solve puzzles (the n queens, with objects and recursion) and
 * multiply matrices that they share but for the rows of the result, and add up what they found under a lock.
 */
final class Compute {
    private static final int SIZE = 96;

    private final double[][] left = new double[SIZE][SIZE];
    private final double[][] right = new double[SIZE][SIZE];
    private final double[][] product = new double[SIZE][SIZE];
    private final Object lock = new Object();
    private long solutions;

    private Compute() {
        for (int i = 0; i < SIZE; i++) {
            for (int j = 0; j < SIZE; j++) {
                left[i][j] = (i * 7 + j) % 13;
                right[i][j] = (i + j * 5) % 11;
            }
        }
    }

    /** A board of one thread's own. */
    private static final class Queens {
        private final int[] columns;
        private final List<Integer> found = new ArrayList<>();
        private long steps;

        Queens(int size) {
            columns = new int[size];
        }

        boolean fits(int row, int column) {
            for (int above = 0; above < row; above++) {
                int distance = columns[above] - column;
                if (distance == 0 || distance == row - above || distance == above - row) {
                    return false;
                }
            }
            return true;
        }

        void place(int row) {
            steps++;
            if (row == columns.length) {
                found.add(columns[0]);
                return;
            }
            for (int column = 0; column < columns.length; column++) {
                if (fits(row, column)) {
                    columns[row] = column;
                    place(row + 1);
                }
            }
        }
    }

    /** Every second row of the product. */
    void multiply(int from) {
        for (int i = from; i < SIZE; i += 2) {
            for (int j = 0; j < SIZE; j++) {
                double sum = 0;
                for (int k = 0; k < SIZE; k++) {
                    sum += left[i][k] * right[k][j];
                }
                product[i][j] = sum;
            }
        }
    }

    private void work(int me, int rounds) {
        for (int round = 0; round < rounds; round++) {
            Queens queens = new Queens(8);
            queens.place(0);
            multiply(me);
            synchronized (lock) {
                solutions += queens.found.size() + queens.steps;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int rounds = Integer.parseInt(arguments[0]);
        Compute compute = new Compute();
        long start = System.nanoTime();
        Thread[] threads = new Thread[2];
        for (int i = 0; i < threads.length; i++) {
            int me = i;
            threads[i] = new Thread(() -> compute.work(me, rounds));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long end = System.nanoTime();
        double digest = 0;
        for (double[] row : compute.product) {
            for (double value : row) {
                digest = digest * 0.5 + value;
            }
        }
        System.out.println(compute.solutions + " " + digest);
        System.out.println("worked " + (end - start) / 1_000_000 + " ms");
    }
}
