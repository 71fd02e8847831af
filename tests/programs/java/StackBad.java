// expect: violated StackBad$Work.next
//
// Not empty a moment ago.
//
//   T1: [ empty                     pop: throws ]
//   T2:         [ empty pop ]
import atomvet.steps.Steps;
import java.util.EmptyStackException;
import java.util.Stack;

public class StackBad {
    static class Work {
        final Stack<String> waiting = new Stack<>();

        String next() {
            if (waiting.empty()) { // begins
                return "nothing";
            }
            Steps.interlude();
            return waiting.pop(); // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Work work = new Work();
        work.waiting.push("dishes");
        String[] got = new String[2];
        Steps.run(
                () -> {
                    try {
                        got[0] = work.next();
                    } catch (EmptyStackException exception) {
                        got[0] = "an exception";
                    }
                },
                () -> got[1] = work.next());
        System.out.println("got " + got[0] + " and " + got[1] + ", expected nothing and dishes");
    }
}
