// As in Java Grande's crypt, series and sparsematmult: threads that share nothing but what is read, and write to parts of an
// array that are their own. All work is in the run that they start with, and main calls that of the first itself.
public class Partitioned {
    static class Part implements Runnable {
        final int[] from;
        final int[] to;
        final int first;
        final int last;

        Part(int[] from, int[] to, int first, int last) {
            this.from = from;
            this.to = to;
            this.first = first;
            this.last = last;
        }

        @Override
        public void run() {
            for (int i = first; i < last; i++) {
                to[i] = from[i] * 3 + 1;
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        int[] from = new int[400];
        int[] to = new int[400];
        for (int i = 0; i < from.length; i++) {
            from[i] = i;
        }
        Thread[] threads = new Thread[4];
        for (int i = 1; i < threads.length; i++) {
            threads[i] = new Thread(new Part(from, to, 100 * i, 100 * (i + 1)));
            threads[i].start();
        }
        new Part(from, to, 0, 100).run();
        for (int i = 1; i < threads.length; i++) {
            threads[i].join();
        }
        System.out.println(to[399]);
    }
}
