import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The checks of what is told about data: the columns of a result, and the schema. */
final class Shape {
    private static final String TABLE = "shape_check";
    private final Driver driver;

    Shape(Driver driver) {
        this.driver = driver;
    }

    void metadata() throws SQLException {
        String sql = "SELECT id AS number, c_ubig, c_decimal, c_varchar, c_char, c_datetime, c_double, c_blob, c_json, 1 + 1"
            + " FROM conformance.types WHERE id = ?";
        try (Connection connection = driver.connect(); PreparedStatement read = connection.prepareStatement(sql)) {
            read.setInt(1, 1);
            try (ResultSet rows = read.executeQuery()) {
                ResultSetMetaData about = rows.getMetaData();
                Report.same("columns", about.getColumnCount(), 10);
                Report.same("the label", about.getColumnLabel(1), "number");
                Report.same("the name", about.getColumnName(1), "id");
                Report.same("the table", about.getTableName(1), "types");
                Report.same("the catalog", about.getCatalogName(1), "conformance");
                Report.same("the type of INT", about.getColumnType(1), java.sql.Types.INTEGER);
                Report.same("not null", about.isNullable(1), ResultSetMetaData.columnNoNulls);
                Report.same("nullable", about.isNullable(2), ResultSetMetaData.columnNullable);
                Report.truth("BIGINT UNSIGNED is unsigned", !about.isSigned(2));
                Report.truth("INT is signed", about.isSigned(1));
                Report.same("DECIMAL", about.getColumnType(3) + " " + about.getPrecision(3) + " " + about.getScale(3), java.sql.Types.DECIMAL + " 38 10");
                Report.same("VARCHAR", about.getColumnType(4) + " " + about.getPrecision(4), java.sql.Types.VARCHAR + " 255");
                Report.same("CHAR", about.getColumnType(5) + " " + about.getPrecision(5), java.sql.Types.CHAR + " 10");
                Report.same("DATETIME", about.getColumnType(6), java.sql.Types.TIMESTAMP);
                // Connector/J tells no scale of times.
                Report.same("DATETIME's fraction", about.getScale(6), driver.isMariadb ? 6 : 0);
                Report.same("DOUBLE", about.getColumnType(7), java.sql.Types.DOUBLE);
                Report.same("BLOB", about.getColumnClassName(8), driver.isMariadb ? "java.sql.Blob" : "[B");
                Report.same("JSON", about.getColumnTypeName(9), "JSON");
                Report.same("a sum", about.getColumnType(10), java.sql.Types.BIGINT);
            }
        }
    }

    private void tables(Connection connection) throws SQLException {
        Checks.run(connection, "DROP TABLE IF EXISTS " + TABLE,
            "CREATE TABLE " + TABLE + " (a INT, b VARCHAR(20) DEFAULT 'x' COMMENT 'second', c DECIMAL(10,2) NOT NULL, d BIGINT UNSIGNED,"
                + " PRIMARY KEY (d, a), UNIQUE KEY by_b (b), KEY by_c (c, b))",
            "DROP VIEW IF EXISTS shape_view", "CREATE VIEW shape_view AS SELECT a FROM " + TABLE + " WHERE d = 1");
    }

    void browse() throws SQLException {
        try (Connection connection = driver.connect()) {
            browse(connection);
        }
    }

    void browseInformationSchema() throws Exception {
        if (driver.isMariadb) {
            throw new Report.Skip("this driver reads information_schema in any case");
        }
        try (Connection connection = driver.connect("useInformationSchema", "true")) {
            browse(connection);
        }
    }

    private void browse(Connection connection) throws SQLException {
        tables(connection);
        DatabaseMetaData about = connection.getMetaData();
        Report.truth("catalogs", column(about.getCatalogs(), "TABLE_CAT").contains("conformance"));
        String database = Driver.DATABASE;
        // Connector/J calls them TABLE and VIEW, MariaDB's driver BASE TABLE in some versions.
        List<String> tables = column(about.getTables(database, null, "shape%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME");
        Report.same("tables", tables, List.of(TABLE, "shape_view"));
        Report.same("tables that are not there", column(about.getTables(database, null, "nosuch", null), "TABLE_NAME"), List.of());
        try (ResultSet rows = about.getColumns(database, null, TABLE, "%")) {
            StringBuilder found = new StringBuilder();
            while (rows.next()) {
                found.append(rows.getString("COLUMN_NAME")).append(' ').append(rows.getString("TYPE_NAME")).append(' ')
                    .append(rows.getInt("COLUMN_SIZE")).append(' ').append(rows.getInt("DECIMAL_DIGITS")).append(' ')
                    .append(rows.getString("IS_NULLABLE")).append(' ').append(rows.getString("COLUMN_DEF")).append(' ')
                    .append(rows.getString("REMARKS")).append("; ");
            }
            String expected = "a INT 10 0 NO null ; b VARCHAR 20 0 YES x second; c DECIMAL 10 2 NO null ; d BIGINT UNSIGNED 20 0 NO null ; ";
            Report.same("columns", found.toString().replace("'x'", "x"), expected);
        }
        Report.same("the primary key", column(about.getPrimaryKeys(database, null, TABLE), "COLUMN_NAME"), List.of("a", "d"));
        List<String> unique = column(about.getIndexInfo(database, null, TABLE, true, false), "INDEX_NAME");
        Report.truth("unique indexes " + unique, unique.contains("by_b") && !unique.contains("by_c"));
        List<String> all = column(about.getIndexInfo(database, null, TABLE, false, false), "COLUMN_NAME");
        Report.same("columns of indexes", all.size(), 5);
        Report.same("the best identifier", column(about.getBestRowIdentifier(database, null, TABLE, 0, true), "COLUMN_NAME").size(), 2);
        others(about, database);
    }

    /** What must answer, with few rows or none. */
    private static void others(DatabaseMetaData about, String database) throws SQLException {
        Report.truth("types", column(about.getTypeInfo(), "TYPE_NAME").contains("BIGINT"));
        Report.truth("table types", column(about.getTableTypes(), "TABLE_TYPE").contains("TABLE"));
        column(about.getSchemas(), "TABLE_SCHEM");
        Report.same("imported keys", column(about.getImportedKeys(database, null, TABLE), "FK_NAME"), List.of());
        Report.same("exported keys", column(about.getExportedKeys(database, null, TABLE), "FK_NAME"), List.of());
        Report.same("cross references", column(about.getCrossReference(database, null, TABLE, database, null, TABLE), "FK_NAME"), List.of());
        Report.same("procedures", column(about.getProcedures(database, null, "%"), "PROCEDURE_NAME"), List.of());
        Report.same("their columns", column(about.getProcedureColumns(database, null, "%", "%"), "PROCEDURE_NAME"), List.of());
        Report.same("functions", column(about.getFunctions(database, null, "%"), "FUNCTION_NAME"), List.of());
        Report.same("their columns", column(about.getFunctionColumns(database, null, "%", "%"), "FUNCTION_NAME"), List.of());
        column(about.getTablePrivileges(database, null, TABLE), "TABLE_NAME");
        column(about.getColumnPrivileges(database, null, TABLE, "a"), "TABLE_NAME");
        column(about.getVersionColumns(database, null, TABLE), "COLUMN_NAME");
        column(about.getClientInfoProperties(), "NAME");
        Report.truth("keywords", about.getSQLKeywords().contains("ZEROFILL"));
        Report.same("the user", about.getUserName().split("@")[0], "root");
    }

    private static List<String> column(ResultSet found, String name) throws SQLException {
        List<String> values = new ArrayList<>();
        try (ResultSet rows = found) {
            while (rows.next()) {
                values.add(rows.getString(name));
            }
        }
        return values;
    }
}
