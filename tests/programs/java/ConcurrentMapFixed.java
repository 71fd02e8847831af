// expect: clean
//
// One call does it: putIfAbsent, computeIfAbsent, merge, or the loop around replace. Other keys are other variables.
import atomvet.steps.Steps;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

public class ConcurrentMapFixed {
    static class Words {
        final ConcurrentMap<String, Integer> counts = new ConcurrentHashMap<>();
        final ConcurrentMap<String, String> owners = new ConcurrentHashMap<>();
        final ConcurrentMap<String, StringBuilder> texts = new ConcurrentHashMap<>();

        void count(String word) {
            Steps.interlude();
            counts.merge(word, 1, Integer::sum);
        }

        void own(String word, String owner) {
            owners.putIfAbsent(word, owner);
        }

        StringBuilder text(String word) {
            return texts.computeIfAbsent(word, StringBuilder::new);
        }

        void renameOwn(String word) {
            String seen = owners.get(word);
            Steps.interlude();
            owners.put(word, seen + "!");
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        Words words = new Words();
        Steps.run(
                () -> {
                    words.own("mine", "first");
                    words.renameOwn("mine");
                    words.count("atom");
                    words.own("atom", "first");
                    words.text("atom");
                },
                () -> {
                    words.own("yours", "second");
                    words.renameOwn("yours");
                    words.count("atom");
                    words.own("atom", "second");
                    words.text("atom");
                });
        System.out.println("atom " + words.counts.get("atom") + ", expected 2");
        System.out.println(words.owners.get("mine") + " " + words.owners.get("yours"));
    }
}
