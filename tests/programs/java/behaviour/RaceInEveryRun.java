//
// Another thread writes what this one has written and reads again, in every execution, and nothing but that orders them.
//
//   T1: [ w(state) start              r(state) ]
//   T2:                   w(state)
public class RaceInEveryRun {
    static class Task {
        int state;
    }

    private static int sum;

    static int search() {
        Task task = new Task();
        task.state = 1;
        Thread other = new Thread(() -> task.state = 2);
        other.start();
        while (other.isAlive()) {
            Thread.onSpinWait();
        }
        return task.state;
    }

    static synchronized void count(int more) {
        sum += more;
    }

    public static void main(String[] arguments) throws InterruptedException {
        Runnable searches = () -> {
            for (int i = 0; i < 20; i++) {
                count(search());
            }
        };
        Thread one = new Thread(searches);
        Thread two = new Thread(searches);
        one.start();
        two.start();
        one.join();
        two.join();
        System.out.println(sum);
    }
}
