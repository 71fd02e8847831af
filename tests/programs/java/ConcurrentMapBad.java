// expect: violated ConcurrentMapBad$Words.count
//
// Every call of a concurrent map is atomic, get and then put is not.
//
//   T1: [ get(k)                       put(k) ]
//   T2:          [ get(k) put(k) ]
import atomvet.steps.Steps;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

public class ConcurrentMapBad {
    static class Words {
        final Map<String, Integer> counts = new ConcurrentHashMap<>();

        void count(String word) {
            Integer seen = counts.get(word); // begins
            Steps.interlude();
            counts.put(word, seen == null ? 1 : seen + 1); // returns
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Words words = new Words();
        Steps.run(() -> words.count("atom"), () -> words.count("atom"));
        System.out.println("atom " + words.counts.get("atom") + ", expected 2");
    }
}
