package atomvet.steps;

/** Lets threads act in turns that are numbered from 0, unseen by the checker: see {@link Steps}. */
public final class Turns {
    private static volatile int turn;

    private Turns() {}

    /** Waits for a turn. */
    public static void await(int number) {
        while (turn != number) {
            Thread.yield();
        }
    }

    /** Ends the turn, and waits for another. */
    public static void next(int number) {
        turn++;
        await(number);
    }

    /** Ends the turn. */
    public static void end() {
        turn++;
    }
}
