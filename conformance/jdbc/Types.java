import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** The checks of types: every column of conformance.types, there and back. */
final class Types {
    /** A line of types.tsv. */
    record Column(String name, String type, String kind, String low, String high) {
        String at(int row) {
            return row == 1 ? low : high;
        }
    }

    private static final HexFormat HEX = HexFormat.of();
    private final Driver driver;
    private final List<Column> columns = new ArrayList<>();

    Types(Driver driver) throws Exception {
        this.driver = driver;
        for (String line : Files.readAllLines(Path.of(System.getenv("MESETA_CHECKLIST"), "types.tsv"))) {
            String[] fields = line.split("\t", -1);
            columns.add(new Column(fields[0], fields[1], fields[2], fields[3], fields[4]));
        }
    }

    void text() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM conformance.types WHERE id IN (1, 2) ORDER BY id")) {
            for (int row = 1; row <= 2; row++) {
                Report.truth("row " + row, rows.next());
                for (Column column : columns) {
                    String found = switch (column.kind) {
                        case "bytes" -> HEX.formatHex(rows.getBytes(column.name));
                        case "bool" -> rows.getBoolean(column.name) ? "1" : "0";
                        default -> rows.getString(column.name);
                    };
                    compare(column, row, found);
                }
            }
        }
    }

    private static void compare(Column column, int row, String found) {
        String expected = column.at(row);
        String what = column.name + " of row " + row;
        switch (column.kind) {
            case "float" -> Report.same(what, Float.valueOf(found), Float.valueOf(expected));
            case "double" -> Report.same(what, Double.valueOf(found), Double.valueOf(expected));
            // Drivers leave out a fraction of zero.
            case "datetime", "time" -> Report.same(what, fraction(found), fraction(expected));
            default -> Report.same(what, found, expected);
        }
    }

    private static String fraction(String time) {
        return time.contains(".") ? time.replaceAll("0+$", "").replaceAll("\\.$", "") : time;
    }

    void prepared() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE types LIKE conformance.types");
            String places = ", ?".repeat(columns.size());
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO types VALUES (?" + places + ")")) {
                for (int row = 1; row <= 2; row++) {
                    insert.setInt(1, row);
                    for (int i = 0; i < columns.size(); i++) {
                        bind(insert, i + 2, columns.get(i), row);
                    }
                    Report.same("rows inserted", insert.executeUpdate(), 1);
                }
                insert.setInt(1, 3);
                for (int i = 0; i < columns.size(); i++) {
                    insert.setObject(i + 2, null);
                }
                insert.executeUpdate();
            }
            String select = "SELECT * FROM types WHERE id = ?";
            for (int round = 0; round < 2; round++) {
                try (PreparedStatement read = connection.prepareStatement(select)) {
                    for (int row = 1; row <= 2; row++) {
                        read.setInt(1, row);
                        try (ResultSet rows = read.executeQuery()) {
                            Report.truth("row " + row, rows.next());
                            for (Column column : columns) {
                                // Connector/J's binary form gives the days of a negative time another sign than its hours.
                                boolean isMisread = isBinary() && column.kind.equals("time") && row == 1;
                                if (!isMisread) {
                                    Report.same(column.name + " of row " + row, value(rows, column), wanted(column, row));
                                }
                            }
                        }
                    }
                }
            }
            compareWithText(statement);
        }
    }

    private boolean isBinary() {
        return !driver.isMariadb && (driver.has("prepared") || driver.has("cursor"));
    }

    /** What was written by parameters is, in text, what was written by literals. */
    private void compareWithText(Statement statement) throws SQLException {
        for (Column column : columns) {
            if (column.kind.equals("float")) {
                continue;
            }
            String sql = "SELECT COUNT(*) FROM types a JOIN conformance.types b ON a.id = b.id WHERE a.id IN (1, 2) AND a."
                + column.name + " = b." + column.name;
            try (ResultSet rows = statement.executeQuery(sql)) {
                rows.next();
                Report.same("rows with the same " + column.name, rows.getInt(1), 2);
            }
        }
    }

    private void bind(PreparedStatement insert, int place, Column column, int row) throws SQLException {
        String text = column.at(row);
        switch (column.kind) {
            case "bool" -> insert.setBoolean(place, text.equals("1"));
            case "int" -> insert.setLong(place, Long.parseLong(text));
            case "year" -> insert.setShort(place, Short.parseShort(text));
            case "float" -> insert.setFloat(place, Float.parseFloat(text));
            case "double" -> insert.setDouble(place, Double.parseDouble(text));
            case "uint", "decimal" -> insert.setBigDecimal(place, new BigDecimal(text));
            case "bytes" -> insert.setBytes(place, HEX.parseHex(text));
            case "date", "datetime" -> insert.setObject(place, wanted(column, row));
            // MariaDB's driver writes a negative duration with a sign in each part.
            case "time" -> insert.setObject(place, text.startsWith("-") && driver.isMariadb ? text : wanted(column, row));
            default -> insert.setString(place, text);
        }
    }

    private static Object wanted(Column column, int row) {
        String text = column.at(row);
        return switch (column.kind) {
            case "bool" -> text.equals("1");
            case "int", "year" -> Long.valueOf(text);
            case "uint" -> new BigDecimal(text);
            case "float" -> Float.valueOf(text);
            case "double" -> Double.valueOf(text);
            case "decimal" -> new BigDecimal(text);
            case "date" -> LocalDate.parse(text);
            case "datetime" -> LocalDateTime.parse(text.replace(' ', 'T'), DateTimeFormatter.ISO_LOCAL_DATE_TIME);
            case "time" -> duration(text);
            default -> text;
        };
    }

    private static Object value(ResultSet rows, Column column) throws SQLException {
        return switch (column.kind) {
            case "bool" -> rows.getBoolean(column.name);
            case "int", "year" -> rows.getLong(column.name);
            case "uint", "decimal" -> rows.getBigDecimal(column.name);
            case "float" -> rows.getFloat(column.name);
            case "double" -> rows.getDouble(column.name);
            case "bytes" -> HEX.formatHex(rows.getBytes(column.name));
            case "date" -> rows.getObject(column.name, LocalDate.class);
            case "datetime" -> rows.getObject(column.name, LocalDateTime.class);
            case "time" -> rows.getObject(column.name, Duration.class);
            default -> rows.getString(column.name);
        };
    }

    private static Duration duration(String text) {
        boolean isNegative = text.startsWith("-");
        String[] parts = text.substring(isNegative ? 1 : 0).split("[:.]");
        Duration length = Duration.ofHours(Long.parseLong(parts[0])).plusMinutes(Long.parseLong(parts[1]))
            .plusSeconds(Long.parseLong(parts[2])).plusNanos(1000 * Long.parseLong(parts[3]));
        return isNegative ? length.negated() : length;
    }

    void nulls() throws Exception {
        try (Connection connection = driver.connect(); Statement statement = connection.createStatement();
                ResultSet text = statement.executeQuery("SELECT * FROM conformance.types WHERE id = 3")) {
            allNull(text);
        }
        try (Connection connection = driver.connect();
                PreparedStatement read = connection.prepareStatement("SELECT * FROM types WHERE id = ?")) {
            read.setInt(1, 3);
            try (ResultSet rows = read.executeQuery()) {
                allNull(rows);
            }
        }
        try (Connection connection = driver.connect();
                PreparedStatement ask = connection.prepareStatement("SELECT ? IS NULL, ? <=> NULL, COALESCE(?, 'x')")) {
            ask.setNull(1, java.sql.Types.INTEGER);
            ask.setNull(2, java.sql.Types.VARCHAR);
            ask.setNull(3, java.sql.Types.TIMESTAMP);
            try (ResultSet rows = ask.executeQuery()) {
                rows.next();
                Report.same("NULL parameters", rows.getInt(1) + " " + rows.getInt(2) + " " + rows.getString(3), "1 1 x");
            }
        }
    }

    private void allNull(ResultSet rows) throws SQLException {
        Report.truth("the row of NULLs", rows.next());
        for (Column column : columns) {
            Report.same(column.name, rows.getObject(column.name), null);
            rows.getLong(column.name);
            Report.truth(column.name + " was NULL", rows.wasNull());
        }
    }
}
