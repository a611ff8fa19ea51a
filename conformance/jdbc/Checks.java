import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLIntegrityConstraintViolationException;
import java.sql.Savepoint;
import java.sql.Statement;

/**
 * The checklist of conformance/README.md by JDBC, and what JDBC has besides. The types are in
 * {@link Types}, what a connection lives through in {@link Life}, what it tells about data in {@link Shape}.
 */
public final class Checks {
    private final Driver driver;
    private final Report report = new Report();

    private Checks(Driver driver) {
        this.driver = driver;
    }

    /** `Checks VARIANT`. */
    public static void main(String[] arguments) throws Exception {
        Checks checks = new Checks(new Driver(arguments[0]));
        checks.all();
        System.exit(checks.report.hasFailed() ? 1 : 0);
    }

    private void all() throws Exception {
        Types types = new Types(driver);
        Life life = new Life(driver);
        Shape shape = new Shape(driver);
        report.check("connect", this::connect);
        report.check("connect-tls", this::connectTls);
        report.check("login-native", () -> login("MESETA_NATIVE_USER"));
        report.check("login-sha2", () -> login("MESETA_SHA2_USER"));
        report.check("text", this::text);
        report.check("prepared", this::prepared);
        report.check("types-text", types::text);
        report.check("types-prepared", types::prepared);
        report.check("nulls", types::nulls);
        report.check("empty-result", this::emptyResult);
        report.check("value-20mb", this::largeValue);
        report.check("multi-statement", this::multiStatement);
        report.check("stream-1m", life::stream);
        report.check("errors", this::errors);
        report.check("kill", life::kill);
        report.check("transaction", this::transaction);
        report.check("batch-insert", this::batchInsert);
        report.check("metadata", shape::metadata);
        report.check("browse", shape::browse);
        report.check("reconnect", life::reconnect);
        report.check("browse-information-schema", shape::browseInformationSchema);
        report.check("query-timeout", life::queryTimeout);
        report.check("cancel", life::cancel);
        report.check("max-rows", this::maxRows);
        report.check("savepoint", this::savepoint);
        report.check("read-only", this::readOnly);
        report.check("updatable", this::updatable);
        report.check("generated-keys", this::generatedKeys);
        report.check("compress", this::compress);
        report.check("load-local", this::loadLocal);
        report.check("catalog", this::catalog);
        report.check("reset", life::reset);
    }

    static String one(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            return rows.next() ? rows.getString(1) : null;
        }
    }

    static void run(Connection connection, String... statements) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private void connect() throws SQLException {
        try (Connection connection = driver.connect()) {
            Report.same("1 + 1", one(connection, "SELECT 1 + 1"), "2");
            DatabaseMetaData about = connection.getMetaData();
            System.out.println("version " + about.getDriverName() + " " + about.getDriverVersion().replaceAll(" .*", "")
                + ", Java " + System.getProperty("java.version"));
            Report.same("the version", about.getDatabaseProductVersion(), one(connection, "SELECT VERSION()"));
            Report.truth("is valid", connection.isValid(5));
        }
    }

    private void connectTls() throws Exception {
        try (Connection connection = driver.connectTls()) {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SHOW STATUS LIKE 'Ssl_cipher'")) {
                Report.truth("a row", rows.next());
                Report.truth("a cipher", !rows.getString(2).isEmpty());
            }
        }
    }

    private void login(String name) throws Exception {
        String user = System.getenv(name);
        for (int round = 0; round < 3; round++) {
            // With TLS, with the RSA key, by the fast path.
            try (Connection connection = round == 0 ? driver.connectTls("user", user, "password", Driver.PASSWORD)
                    : driver.connect("user", user, "password", Driver.PASSWORD)) {
                Report.same("the account", one(connection, "SELECT CURRENT_USER()"), user + "@%");
            }
        }
        try (Connection connection = driver.connect("user", user, "password", "wrong")) {
            Report.truth("refused", connection == null);
        } catch (SQLException error) {
            Report.same("the error", error.getErrorCode() + " " + error.getSQLState(), "1045 28000");
        }
    }

    private void text() throws SQLException {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE text_check (id INT PRIMARY KEY, v VARCHAR(50))");
            String insert = "/* why */ INSERT INTO text_check VALUES (1, 'héllo 日本語 😀'), (2, 'two') -- said\n";
            Report.same("rows inserted", statement.executeUpdate(insert), 2);
            Report.same("rows changed", statement.executeUpdate("UPDATE text_check SET v = 'deux' WHERE id = 2"), 1);
            Report.same("the text", one(connection, "SELECT v FROM text_check WHERE id = 1 # so"), "héllo 日本語 😀");
            // Drivers ask for the rows found, not for those changed.
            Report.same("rows found", statement.executeUpdate("UPDATE text_check SET v = 'deux' WHERE id = 2"), 1);
            Report.same("rows deleted", statement.executeUpdate("DELETE FROM text_check WHERE id IN (1, 2, 3)"), 2);
        }
    }

    private void prepared() throws SQLException {
        try (Connection connection = driver.connect()) {
            run(connection, "CREATE TABLE prepared_check (id INT PRIMARY KEY, v VARCHAR(50), d DOUBLE)");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO prepared_check VALUES (?, ?, ?)")) {
                boolean isPrepared = insert.getClass().getName().contains("ServerPrepared");
                Report.truth("the server prepares", isPrepared == (driver.has("prepared") || driver.has("cursor")));
                for (int id = 1; id <= 100; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, "row " + id);
                    insert.setDouble(3, id / 4.0);
                    Report.same("rows inserted", insert.executeUpdate(), 1);
                }
            }
            String sql = "SELECT v, d FROM prepared_check WHERE id = ?";
            try (PreparedStatement read = connection.prepareStatement(sql)) {
                for (int id = 1; id <= 100; id++) {
                    if (id % 2 == 0) {
                        read.setInt(1, id);
                    } else {
                        read.setString(1, Integer.toString(id));
                    }
                    try (ResultSet rows = read.executeQuery()) {
                        Report.truth("a row", rows.next());
                        Report.same("the row", rows.getString(1) + " " + rows.getDouble(2), "row " + id + " " + id / 4.0);
                        Report.truth("one row", !rows.next());
                    }
                }
            }
        }
    }

    private void emptyResult() throws SQLException {
        try (Connection connection = driver.connect();
                PreparedStatement read = connection.prepareStatement("SELECT id AS number, c_text FROM conformance.types WHERE id = ?")) {
            read.setInt(1, 99);
            try (ResultSet rows = read.executeQuery()) {
                Report.same("the column", rows.getMetaData().getColumnLabel(1), "number");
                Report.truth("no rows", !rows.next());
            }
            Report.same("an empty string", one(connection, "SELECT c_text FROM conformance.types WHERE id = 1"), "");
        }
    }

    private void largeValue() throws SQLException {
        byte[] value = new byte[20_000_000];
        for (int i = 0; i < value.length; i++) {
            value[i] = (byte) ('a' + i % 26);
        }
        try (Connection connection = driver.connect();
                PreparedStatement echo = connection.prepareStatement("SELECT ?, LENGTH(?)")) {
            echo.setString(1, new String(value, StandardCharsets.US_ASCII));
            echo.setBytes(2, value);
            try (ResultSet rows = echo.executeQuery()) {
                rows.next();
                Report.same("the length", rows.getInt(2), value.length);
                Report.truth("the value", java.util.Arrays.equals(rows.getBytes(1), value));
            }
        }
        // By a stream: long data.
        try (Connection connection = driver.connect();
                PreparedStatement echo = connection.prepareStatement("SELECT LENGTH(?)")) {
            echo.setBinaryStream(1, new ByteArrayInputStream(value));
            try (ResultSet rows = echo.executeQuery()) {
                rows.next();
                Report.same("the length of a stream", rows.getInt(1), value.length);
            }
        }
    }

    private void multiStatement() throws SQLException {
        try (Connection connection = driver.connect("allowMultiQueries", "true"); Statement statement = connection.createStatement()) {
            String sql = "SELECT 1; CREATE TABLE multi_check (id INT PRIMARY KEY); INSERT INTO multi_check VALUES (1), (2); SELECT 'last'";
            Report.truth("rows first", statement.execute(sql));
            Report.truth("no rows of CREATE", !statement.getMoreResults() && statement.getUpdateCount() == 0);
            Report.truth("two rows of INSERT", !statement.getMoreResults() && statement.getUpdateCount() == 2);
            Report.truth("rows last", statement.getMoreResults());
            try (ResultSet rows = statement.getResultSet()) {
                rows.next();
                Report.same("the last", rows.getString(1), "last");
            }
            Report.truth("the end", !statement.getMoreResults() && statement.getUpdateCount() == -1);
            statement.execute("SELECT 1; SELECT nosuch; INSERT INTO multi_check VALUES (3)");
            int code = 0;
            try {
                statement.getMoreResults();
            } catch (SQLException error) {
                code = error.getErrorCode();
            }
            Report.same("the error in the middle", code, 1054);
        } catch (SQLException error) {
            // Some drivers tell of the error at once.
            Report.same("the error in the middle", error.getErrorCode(), 1054);
        }
        try (Connection connection = driver.connect()) {
            Report.same("rows, the third statement was not reached", one(connection, "SELECT COUNT(*) FROM multi_check WHERE id > 0"), "2");
        }
    }

    private void errors() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            for (String line : Files.readAllLines(Path.of(System.getenv("MESETA_CHECKLIST"), "errors.tsv"))) {
                String[] fields = line.split("\t");
                String found = "no error";
                try {
                    statement.execute(fields[2]);
                } catch (SQLException error) {
                    found = error.getErrorCode() + " " + error.getSQLState();
                }
                // Connector/J gives every data truncation the state 22001.
                boolean isTruncation = fields[0].equals("1264") && !driver.isMariadb;
                String expected = fields[0] + " " + (isTruncation ? "22001" : fields[1]);
                Report.same(fields[2], found, expected);
            }
            Report.same("afterwards", one(connection, "SELECT 7"), "7");
            boolean isViolation = false;
            try {
                statement.execute("INSERT INTO conformance.errors VALUES (1, 1, 'one', 1)");
            } catch (SQLIntegrityConstraintViolationException violation) {
                isViolation = true;
            }
            Report.truth("a duplicate is an integrity constraint violation", isViolation);
        }
    }

    private void transaction() throws SQLException {
        try (Connection connection = driver.connect(); Connection other = driver.connect()) {
            run(connection, "CREATE TABLE transaction_check (id INT PRIMARY KEY)");
            String count = "SELECT COUNT(*) FROM transaction_check WHERE id > 0";
            connection.setAutoCommit(false);
            run(connection, "INSERT INTO transaction_check VALUES (1)");
            Report.same("seen by itself", one(connection, count), "1");
            Report.same("seen by another", one(other, count), "0");
            connection.rollback();
            Report.same("rolled back", one(connection, count), "0");
            run(connection, "INSERT INTO transaction_check VALUES (1), (2)");
            connection.commit();
            Report.same("committed", one(other, count), "2");
            connection.setAutoCommit(true);
            run(connection, "INSERT INTO transaction_check VALUES (3)");
            Report.same("by itself", one(other, count), "3");
            for (int level : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ}) {
                connection.setTransactionIsolation(level);
                Report.same("the level", connection.getTransactionIsolation(), level);
            }
        }
    }

    private void batchInsert() throws SQLException {
        int rows = 10_000;
        try (Connection connection = driver.connect()) {
            run(connection, "CREATE TABLE batch_check (id INT PRIMARY KEY, v VARCHAR(20))");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO batch_check (id, v) VALUES (?, ?)")) {
                for (int id = 1; id <= rows; id++) {
                    insert.setInt(1, id);
                    insert.setString(2, "v" + id);
                    insert.addBatch();
                }
                int[] counts = insert.executeBatch();
                Report.same("counts", counts.length, rows);
                for (int count : counts) {
                    Report.truth("a count of " + count, count == 1 || count == Statement.SUCCESS_NO_INFO);
                }
            }
            connection.commit();
            connection.setAutoCommit(true);
            String sum = "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(v = CONCAT('v', id))) FROM batch_check WHERE id > 0";
            Report.same("what is there", one(connection, sum), rows + " " + (long) rows * (rows + 1) / 2 + " " + rows);
        }
    }

    private void maxRows() throws SQLException {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.setMaxRows(2);
            int found = 0;
            try (ResultSet rows = statement.executeQuery("SELECT id FROM conformance.types WHERE id > 0")) {
                while (rows.next()) {
                    found++;
                }
            }
            Report.same("rows", found, 2);
            Report.same("rows of another statement", one(connection, "SELECT COUNT(*) FROM conformance.types WHERE id > 0"), "3");
        }
    }

    private void savepoint() throws SQLException {
        try (Connection connection = driver.connect()) {
            run(connection, "CREATE TABLE savepoint_check (id INT PRIMARY KEY)");
            connection.setAutoCommit(false);
            run(connection, "INSERT INTO savepoint_check VALUES (1)");
            Savepoint point = connection.setSavepoint("here");
            run(connection, "INSERT INTO savepoint_check VALUES (2)");
            connection.rollback(point);
            run(connection, "INSERT INTO savepoint_check VALUES (3)");
            connection.releaseSavepoint(connection.setSavepoint());
            connection.commit();
            Report.same("ids", one(connection, "SELECT GROUP_CONCAT(id ORDER BY id) FROM savepoint_check WHERE id > 0"), "1,3");
        }
    }

    private void readOnly() throws Exception {
        if (driver.isMariadb) {
            throw new Report.Skip("this driver tells a server only when it has replicas to choose from");
        }
        try (Connection connection = driver.connect()) {
            run(connection, "CREATE TABLE read_only_check (id INT PRIMARY KEY)");
            connection.setReadOnly(true);
            int code = 0;
            try {
                run(connection, "INSERT INTO read_only_check VALUES (1)");
            } catch (SQLException error) {
                code = 1;
            }
            Report.same("refused", code, 1);
            connection.setReadOnly(false);
            run(connection, "INSERT INTO read_only_check VALUES (1)");
        }
    }

    private void updatable() throws SQLException {
        try (Connection connection = driver.connect();
                Statement statement = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_UPDATABLE)) {
            run(connection, "CREATE TABLE updatable_check (id INT PRIMARY KEY, v VARCHAR(20))", "INSERT INTO updatable_check VALUES (1, 'a'), (2, 'b')");
            try (ResultSet rows = statement.executeQuery("SELECT id, v FROM updatable_check WHERE id > 0")) {
                rows.absolute(2);
                rows.updateString("v", "changed");
                rows.updateRow();
                rows.moveToInsertRow();
                rows.updateInt(1, 3);
                rows.updateString(2, "new");
                rows.insertRow();
                rows.absolute(1);
                rows.deleteRow();
            }
            String sql = "SELECT GROUP_CONCAT(id, v ORDER BY id) FROM updatable_check WHERE id > 0";
            Report.same("the rows", one(connection, sql), "2changed,3new");
        }
    }

    private void generatedKeys() throws SQLException {
        try (Connection connection = driver.connect()) {
            run(connection, "CREATE TABLE keys_check (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))");
            long id = 0;
            String sql = "INSERT INTO keys_check (v) VALUES (?)";
            try (PreparedStatement insert = connection.prepareStatement(sql, Statement.RETURN_GENERATED_KEYS)) {
                insert.setString(1, "one");
                insert.executeUpdate();
                try (ResultSet rows = insert.getGeneratedKeys()) {
                    Report.truth("a key", rows.next());
                    id = rows.getLong(1);
                }
            }
            Report.same("its row", one(connection, "SELECT v FROM keys_check WHERE id = " + id), "one");
            Report.same("LAST_INSERT_ID()", one(connection, "SELECT LAST_INSERT_ID()"), Long.toString(id));
        }
    }

    private void compress() throws SQLException {
        try (Connection connection = driver.connect("useCompression", "true")) {
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SHOW STATUS LIKE 'Compression'")) {
                Report.truth("a row", rows.next());
                Report.same("Compression", rows.getString(2), "ON");
            }
            Report.same("a long text", one(connection, "SELECT LENGTH(REPEAT('ab', 1000000))"), "2000000");
            Report.same("a long answer", one(connection, "SELECT REPEAT('ab', 100000)").length(), 200_000);
        }
    }

    private void loadLocal() throws Exception {
        Path file = Files.createTempFile("meseta", ".csv");
        Files.writeString(file, "1,one\n2,two\n3,\\N\n");
        try (Connection connection = driver.connect(driver.isMariadb ? "allowLocalInfile" : "allowLoadLocalInfile", "true");
                Statement statement = connection.createStatement()) {
            run(connection, "CREATE TABLE load_check (id INT PRIMARY KEY, v VARCHAR(20))");
            String sql = "LOAD DATA LOCAL INFILE '" + file + "' INTO TABLE load_check FIELDS TERMINATED BY ','";
            Report.same("rows", statement.executeUpdate(sql), 3);
            Report.same("the rows", one(connection, "SELECT GROUP_CONCAT(id, COALESCE(v, '-') ORDER BY id) FROM load_check WHERE id > 0"), "1one,2two,3-");
        } finally {
            Files.delete(file);
        }
    }

    private void catalog() throws SQLException {
        try (Connection connection = driver.connect()) {
            Report.same("the catalog", connection.getCatalog(), Driver.DATABASE);
            connection.setCatalog("conformance");
            Report.same("another", connection.getCatalog(), "conformance");
            Report.same("DATABASE()", one(connection, "SELECT DATABASE()"), "conformance");
            run(connection, "USE " + Driver.DATABASE);
            // Connector/J remembers what it was told itself.
            Report.same("by USE", driver.isMariadb ? connection.getCatalog() : one(connection, "SELECT DATABASE()"), Driver.DATABASE);
        }
    }
}
