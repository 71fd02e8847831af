import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;

/** Four threads and one database in memory; what is printed does not depend on who came first. */
public class Load {
    private static final String DATABASE = "jdbc:h2:mem:load;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
    private static final int ACCOUNTS = 50;
    private static final int THREADS = 4;

    public static void main(String[] arguments) throws Exception {
        int transfers = Integer.parseInt(arguments[0]);
        try (Connection connection = DriverManager.getConnection(DATABASE);
                Statement statement = connection.createStatement()) {
            statement.execute("create table account(id int primary key, balance int not null, name varchar(20))");
            statement.execute("create table log(thread int, number int, amount int, primary key(thread, number))");
            statement.execute("create index by_name on account(name)");
            for (int id = 0; id < ACCOUNTS; id++) {
                statement.execute("insert into account values(" + id + ", 1000, 'name " + id % 7 + "')");
            }
            Thread[] threads = new Thread[THREADS];
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                threads[i] = new Thread(() -> work(thread, transfers), "worker " + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            print(statement, "select sum(balance), count(*) from account");
            print(statement, "select id, balance from account order by id");
            print(statement, "select thread, count(*), sum(amount) from log group by thread order by thread");
            print(statement, "select name, sum(balance) from account group by name order by name");
        }
    }

    private static void work(int thread, int transfers) {
        Random random = new Random(thread);
        try (Connection connection = DriverManager.getConnection(DATABASE);
                PreparedStatement update =
                    connection.prepareStatement("update account set balance = balance + ? where id = ?");
                PreparedStatement insert = connection.prepareStatement("insert into log values(?, ?, ?)");
                PreparedStatement select =
                    connection.prepareStatement("select count(*), max(id) from account where name = ?")) {
            connection.setAutoCommit(false);
            for (int number = 0; number < transfers; number++) {
                int one = random.nextInt(ACCOUNTS - 1);
                int other = one + 1 + random.nextInt(ACCOUNTS - one - 1);
                int amount = random.nextInt(100);
                // In the order of their numbers, so that nobody waits for each other.
                add(update, one, -amount);
                add(update, other, amount);
                insert.setInt(1, thread);
                insert.setInt(2, number);
                insert.setInt(3, amount);
                insert.executeUpdate();
                connection.commit();
                if (number % 5 == 0) {
                    select.setString(1, "name " + number % 7);
                    try (ResultSet result = select.executeQuery()) {
                        result.next();
                    }
                    connection.commit();
                }
            }
        } catch (SQLException error) {
            error.printStackTrace(System.out);
        }
    }

    private static void add(PreparedStatement update, int id, int amount) throws SQLException {
        update.setInt(1, amount);
        update.setInt(2, id);
        update.executeUpdate();
    }

    private static void print(Statement statement, String query) throws SQLException {
        try (ResultSet result = statement.executeQuery(query)) {
            int columns = result.getMetaData().getColumnCount();
            while (result.next()) {
                StringBuilder line = new StringBuilder();
                for (int column = 1; column <= columns; column++) {
                    line.append(result.getString(column)).append(' ');
                }
                System.out.println(line);
            }
        }
    }
}
