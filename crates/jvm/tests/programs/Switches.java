public class Switches {
    enum Colour { RED, GREEN, BLUE }

    static int calls;

    static String dense(int value) {
        calls++;
        switch (value) {
            case 1: return "one";
            case 2: return "two";
            case 3: calls += 10;
            case 4: return "three or four";
            default: return "many";
        }
    }

    static String sparse(int value) {
        calls++;
        switch (value) {
            case -1000000: return "low";
            case 7: return "seven";
            case 1000000: return "high";
            default: return "else";
        }
    }

    static int text(String value) {
        return switch (value) {
            case "Aa", "BB" -> 1; // One hash code.
            case "C" -> { calls++; yield 2; }
            default -> 3;
        };
    }

    static char colour(Colour colour) {
        return switch (colour) {
            case RED -> 'r';
            case GREEN -> 'g';
            case BLUE -> 'b';
        };
    }

    public static void main(String[] arguments) {
        for (int value = 0; value < 6; value++) {
            System.out.println(dense(value));
        }
        for (int value : new int[] {-1000000, 7, 1000000, 0}) {
            System.out.println(sparse(value));
        }
        for (String value : new String[] {"Aa", "BB", "C", "D"}) {
            System.out.println(text(value));
        }
        for (Colour value : Colour.values()) {
            System.out.println(colour(value));
        }
        System.out.println(calls);
    }
}
