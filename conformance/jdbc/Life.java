import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.util.concurrent.CompletableFuture;

/** The checks of what a connection lives through: long results, KILL, timeouts, idleness. */
final class Life {
    /** What streaming may hold at a time; a million rows are some hundred megabytes. */
    private static final long STREAM_BYTES_MAX = 40_000_000;
    private static final int ROWS = 1_000_000;
    private static final long PROMPT_MS = 5_000;

    private final Driver driver;

    Life(Driver driver) {
        this.driver = driver;
    }

    private static long usedBytes() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    void stream() throws SQLException {
        try (Connection connection = driver.connect();
                Statement statement = connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            statement.setFetchSize(driver.isMariadb || driver.has("cursor") ? 1000 : Integer.MIN_VALUE);
            long before = usedBytes();
            int count = 0;
            try (ResultSet rows = statement.executeQuery("SELECT * FROM conformance.million WHERE id > 0")) {
                while (rows.next()) {
                    count++;
                    if (rows.getInt(1) != count || !rows.getString(2).equals("row " + count)) {
                        throw new AssertionError("row " + count + " is " + rows.getInt(1) + " " + rows.getString(2));
                    }
                    if (count == ROWS / 2) {
                        long grown = usedBytes() - before;
                        Report.truth("holds " + grown + " bytes", grown < STREAM_BYTES_MAX);
                    }
                }
            }
            Report.same("rows", count, ROWS);
            Report.same("afterwards", Checks.one(connection, "SELECT 5"), "5");
        }
    }

    /** Starts a statement that sleeps, and waits until the server runs it. */
    private CompletableFuture<String> sleeper(Statement statement, Connection watcher, String id) throws Exception {
        CompletableFuture<String> outcome = CompletableFuture.supplyAsync(() -> {
            try (ResultSet rows = statement.executeQuery("SELECT SLEEP(30)")) {
                rows.next();
                return rows.getString(1);
            } catch (SQLTimeoutException timeout) {
                return "timeout";
            } catch (SQLException error) {
                return error.getErrorCode() + " " + error.getSQLState();
            }
        });
        String running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = " + id + " AND INFO LIKE '%SLEEP(30)'";
        for (int i = 0; i < 200 && !outcome.isDone(); i++) {
            if ("1".equals(Checks.one(watcher, running))) {
                return outcome;
            }
            Thread.sleep(20);
        }
        throw new AssertionError("the statement does not run: " + outcome.getNow("nothing"));
    }

    void kill() throws Exception {
        try (Connection other = driver.connect(); Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            String id = Checks.one(connection, "SELECT CONNECTION_ID()");
            CompletableFuture<String> outcome = sleeper(statement, other, id);
            long start = System.currentTimeMillis();
            Checks.run(other, "KILL QUERY " + id);
            String found = outcome.get();
            Report.truth("ended at once", System.currentTimeMillis() - start < PROMPT_MS);
            // SLEEP that is interrupted gives 1; any other statement ends with 1317.
            Report.truth("the outcome " + found, found.equals("1") || found.equals("1317 70100"));
            Report.same("afterwards", Checks.one(connection, "SELECT 8"), "8");
            Checks.run(other, "KILL " + id);
            String state = "none";
            try {
                Checks.one(connection, "SELECT 9");
            } catch (SQLException error) {
                state = error.getSQLState();
            }
            Report.truth("gone, with " + state, state.startsWith("08") || state.equals("70100"));
            Report.truth("not valid", !connection.isValid(2));
        }
    }

    void queryTimeout() throws SQLException {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.setQueryTimeout(1);
            long start = System.currentTimeMillis();
            boolean isTimeout = false;
            try (ResultSet rows = statement.executeQuery("SELECT SLEEP(30)")) {
                rows.next();
            } catch (SQLTimeoutException timeout) {
                isTimeout = true;
            }
            Report.truth("ended at once", System.currentTimeMillis() - start < 1000 + PROMPT_MS);
            // MariaDB's driver sends KILL QUERY, and SLEEP answers that with 1.
            Report.truth("with the timeout's own class", isTimeout || driver.isMariadb);
            Report.same("afterwards", Checks.one(connection, "SELECT 8"), "8");
        }
    }

    void cancel() throws Exception {
        try (Connection other = driver.connect(); Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            String id = Checks.one(connection, "SELECT CONNECTION_ID()");
            CompletableFuture<String> outcome = sleeper(statement, other, id);
            long start = System.currentTimeMillis();
            statement.cancel();
            outcome.get();
            Report.truth("ended at once", System.currentTimeMillis() - start < PROMPT_MS);
            Report.same("afterwards", Checks.one(connection, "SELECT 8"), "8");
        }
    }

    void reconnect() throws Exception {
        try (Connection connection = driver.connect()) {
            Checks.run(connection, "SET SESSION wait_timeout = 1");
            Thread.sleep(2500);
            String state = "none";
            try {
                Checks.one(connection, "SELECT 9");
            } catch (SQLException error) {
                state = error.getSQLState();
            }
            Report.truth("gone, with " + state, state.startsWith("08") || state.equals("HY000"));
        }
        try (Connection connection = driver.connect()) {
            Report.same("a new one", Checks.one(connection, "SELECT 9"), "9");
        }
    }

    /** What a pool does between two borrowers. */
    void reset() throws Exception {
        try (Connection connection = driver.connect()) {
            Checks.run(connection, "SET @kept = 5");
            if (driver.isMariadb) {
                throw new Report.Skip("this driver resets only inside its own pool");
            }
            Class<?> vendor = Class.forName("com.mysql.cj.jdbc.JdbcConnection");
            vendor.getMethod("resetServerState").invoke(connection.unwrap(vendor));
            Report.same("the variable", Checks.one(connection, "SELECT @kept"), null);
            Report.same("afterwards", Checks.one(connection, "SELECT 'é'"), "é");
        }
    }
}
