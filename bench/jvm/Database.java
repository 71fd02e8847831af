import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * H2, in memory, with two threads: each looks at accounts by key and by index, sums some up, and moves money in
 * transactions that both make in the same tables. What is left does not depend on their order.
 */
final class Database {
    private static final int ACCOUNTS = 2_000;
    private static final String URL = "jdbc:h2:mem:bench;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";

    private final long[] sums = new long[2];

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        Database database = new Database();
        try (Connection connection = DriverManager.getConnection(URL)) {
            fill(connection);
            long start = System.nanoTime();
            Thread[] threads = new Thread[2];
            for (int i = 0; i < threads.length; i++) {
                int me = i;
                threads[i] = new Thread(() -> database.work(me, rounds));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            long end = System.nanoTime();
            System.out.println(database.sums[0] + " " + database.sums[1] + " " + digest(connection));
            System.out.println("worked " + (end - start) / 1_000_000 + " ms");
        }
    }

    private static void fill(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table account(id int primary key, branch int, balance bigint, owner varchar)");
            statement.execute("create index account_branch on account(branch)");
            statement.execute("create table history(id bigint primary key, source int, target int, amount bigint)");
        }
        try (PreparedStatement insert = connection.prepareStatement("insert into account values(?, ?, ?, ?)")) {
            for (int i = 0; i < ACCOUNTS; i++) {
                insert.setInt(1, i);
                insert.setInt(2, i % 100);
                insert.setLong(3, 1_000);
                insert.setString(4, "owner " + i * 31);
                insert.executeUpdate();
            }
        }
    }

    private void work(int me, int rounds) {
        try (Connection connection = DriverManager.getConnection(URL)) {
            connection.setAutoCommit(false);
            try (PreparedStatement owner = connection.prepareStatement("select owner from account where id = ?");
                    PreparedStatement branch = connection.prepareStatement(
                        "select count(*), sum(length(owner)) from account where branch = ?");
                    PreparedStatement move = connection.prepareStatement(
                        "update account set balance = balance + ? where id = ?");
                    PreparedStatement note = connection.prepareStatement("insert into history values(?, ?, ?, ?)")) {
                int random = 12_345 + me;
                for (int i = 0; i < rounds; i++) {
                    random = random * 1_103_515_245 + 12_345;
                    int one = (random >>> 8) % ACCOUNTS;
                    int other = (one + 1 + (random >>> 20)) % ACCOUNTS;
                    sums[me] += look(owner, one) + look(owner, other) + sum(branch, one % 100);
                    // Always the smaller one first, so that no two transactions wait for each other.
                    change(move, Math.min(one, other), i % 7);
                    if (one != other) {
                        change(move, Math.max(one, other), -(i % 7));
                    }
                    note.setLong(1, (long) me * rounds + i);
                    note.setInt(2, one);
                    note.setInt(3, other);
                    note.setLong(4, i % 7);
                    note.executeUpdate();
                    connection.commit();
                }
            }
        } catch (SQLException problem) {
            throw new IllegalStateException(problem);
        }
    }

    private static long look(PreparedStatement owner, int id) throws SQLException {
        owner.setInt(1, id);
        try (ResultSet result = owner.executeQuery()) {
            result.next();
            return result.getString(1).length();
        }
    }

    private static long sum(PreparedStatement branch, int number) throws SQLException {
        branch.setInt(1, number);
        try (ResultSet result = branch.executeQuery()) {
            result.next();
            return result.getLong(1) + result.getLong(2);
        }
    }

    private static void change(PreparedStatement move, int id, long amount) throws SQLException {
        move.setLong(1, amount);
        move.setInt(2, id);
        move.executeUpdate();
    }

    private static String digest(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(
                    "select (select sum(balance * (id + 1)) from account), (select sum(id * amount) from history)")) {
            result.next();
            return result.getLong(1) + " " + result.getLong(2);
        }
    }
}
