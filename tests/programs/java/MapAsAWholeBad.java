// expect: violated MapAsAWholeBad$Sessions.open
// expect: violated MapAsAWholeBad$Sessions.total
//
// The set of keys is a variable, too: who asks for the size and then adds a key, another one each, may add one too many. And who adds up
// values reads all of them.
//
//   T1: [ size()                            put(a) ]        T1: [ forEach(…)              forEach(…) ]
//   T2:           [ size()  put(b) ]                        T2:               [ put(a) ]
import atomvet.steps.Steps;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class MapAsAWholeBad {
    static class Sessions {
        final Map<String, Integer> sessions = new ConcurrentHashMap<>();

        void open(String user) {
            if (sessions.size() < 1) {
                Steps.interlude();
                sessions.put(user, 1);
            }
        }

        int total() {
            int[] sum = new int[1];
            sessions.values().forEach(value -> sum[0] += value);
            Steps.interlude();
            sessions.values().forEach(value -> sum[0] += value);
            return sum[0];
        }

        void count(String user) {
            sessions.put(user, 2);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Sessions sessions = new Sessions();
        Steps.run(() -> sessions.open("first"), () -> sessions.open("second"));
        System.out.println("size " + sessions.sessions.size() + ", expected 1");
        Steps.run(() -> sessions.total(), () -> sessions.count("first"));
    }
}
