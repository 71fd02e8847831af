// expect: violated java.lang.AbstractStringBuilder.append
// options: --include java.lang.StringBuffer --include java.lang.AbstractStringBuilder
//
// The JDK's own StringBuffer, watched in place: append(StringBuffer) asks the other buffer for its length and then for its
// characters, in two synchronized calls. There is no way in between for us, so two threads try until it happens: then
// characters are in the result that nobody ever wrote.
public class StringBufferBad {
    static volatile boolean torn;

    static class Pair {
        final StringBuffer source = new StringBuffer("01");

        int copy() {
            StringBuffer target = new StringBuffer();
            target.append(source);
            return target.indexOf("\0");
        }

        void change() {
            synchronized (source) {
                if (source.length() > 2) {
                    source.setLength(2);
                } else {
                    source.append("23456789");
                }
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Pair pair = new Pair();
        Thread copier = new Thread(() -> {
            while (!torn) {
                if (pair.copy() >= 0) {
                    torn = true;
                }
            }
        });
        Thread changer = new Thread(() -> {
            while (!torn) {
                pair.change();
            }
        });
        copier.start();
        changer.start();
        copier.join();
        changer.join();
        System.out.println("torn " + torn + ", expected never to come here");
    }
}
