// expect: clean
//
// The stack's own lock over both calls.
import atomvet.steps.Steps;
import java.util.Stack;

public class StackFixed {
    static class Work {
        final Stack<String> waiting = new Stack<>();

        String next() {
            synchronized (waiting) {
                if (waiting.empty()) {
                    return "nothing";
                }
                Steps.interludeIfPossible();
                return waiting.pop();
            }
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Work work = new Work();
        work.waiting.push("dishes");
        String[] got = new String[2];
        Steps.run(() -> got[0] = work.next(), () -> got[1] = work.next());
        System.out.println("got " + got[0] + " and " + got[1] + ", expected dishes and nothing");
    }
}
