"""Prepared statements in the binary protocol, on a PyMySQL connection's socket and packets.

PyMySQL has no prepared statements; this is the least client that has. Source: MySQL 8.0 source
documentation, "Prepared Statements". PyMySQL does not ask for DEPRECATE_EOF, so this is also
where the old end of result sets is checked after PREPARE and EXECUTE.
"""

import datetime
import decimal
import struct

import pymysql
from pymysql.constants import FIELD_TYPE

COM_STMT_PREPARE = 0x16
COM_STMT_EXECUTE = 0x17
COM_STMT_SEND_LONG_DATA = 0x18
COM_STMT_CLOSE = 0x19
COM_STMT_RESET = 0x1A
UNSIGNED_FLAG = 32
UNSIGNED_TYPE = 0x80

INTEGERS = {
    FIELD_TYPE.TINY: "b",
    FIELD_TYPE.SHORT: "h",
    FIELD_TYPE.YEAR: "h",
    FIELD_TYPE.INT24: "i",
    FIELD_TYPE.LONG: "i",
    FIELD_TYPE.LONGLONG: "q",
}


def length_coded(value):
    size = len(value)
    if size < 251:
        return bytes([size]) + value
    if size < 2**16:
        return b"\xfc" + struct.pack("<H", size) + value
    if size < 2**24:
        return b"\xfd" + struct.pack("<I", size)[:3] + value
    return b"\xfe" + struct.pack("<Q", size) + value


class Parameter:
    """A value with the wire type it is sent as."""

    def __init__(self, kind, value, unsigned=False):
        self.kind, self.value, self.unsigned = kind, value, unsigned

    def encoded(self):
        value = self.value
        if self.kind in INTEGERS:
            code = INTEGERS[self.kind]
            return struct.pack("<" + (code.upper() if self.unsigned else code), value)
        if self.kind == FIELD_TYPE.FLOAT:
            return struct.pack("<f", value)
        if self.kind == FIELD_TYPE.DOUBLE:
            return struct.pack("<d", value)
        if self.kind in (FIELD_TYPE.DATE, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP):
            return encode_datetime(value)
        if self.kind == FIELD_TYPE.TIME:
            return encode_time(value)
        if isinstance(value, str):
            value = value.encode()
        return length_coded(value)


def encode_datetime(value):
    body = struct.pack("<HBB", value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):
        if value.microsecond:
            body += struct.pack(
                "<BBBI", value.hour, value.minute, value.second, value.microsecond
            )
        elif value.hour or value.minute or value.second:
            body += struct.pack("<BBB", value.hour, value.minute, value.second)
    return bytes([len(body)]) + body


def encode_time(value):
    if not value:
        return b"\0"
    negative = value < datetime.timedelta(0)
    value = abs(value)
    hours, rest = divmod(value.seconds, 3600)
    body = struct.pack("<BIBBB", negative, value.days, hours, rest // 60, rest % 60)
    if value.microseconds:
        body += struct.pack("<I", value.microseconds)
    return bytes([len(body)]) + body


def decode_datetime(data, is_date):
    if not data:
        return None
    year, month, day = struct.unpack_from("<HBB", data)
    if is_date:
        return datetime.date(year, month, day)
    clock = struct.unpack_from("<BBB", data, 4) if len(data) >= 7 else (0, 0, 0)
    micros = struct.unpack_from("<I", data, 7)[0] if len(data) == 11 else 0
    return datetime.datetime(year, month, day, *clock, micros)


def decode_time(data):
    if not data:
        return datetime.timedelta(0)
    negative, days, hours, minutes, seconds = struct.unpack_from("<BIBBB", data)
    micros = struct.unpack_from("<I", data, 8)[0] if len(data) == 12 else 0
    value = datetime.timedelta(
        days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=micros
    )
    return -value if negative else value


class Statement:
    """A statement that the server has prepared."""

    def __init__(self, connection, sql):
        self.connection = connection
        connection._execute_command(COM_STMT_PREPARE, sql)
        packet = connection._read_packet()
        data = packet.get_all_data()
        self.id, columns, parameters = struct.unpack_from("<IHH", data, 1)
        self.parameters_count = parameters
        self.columns_count = columns
        for count in (parameters, columns):
            for _ in range(count):
                connection._read_packet()
            if count:
                assert connection._read_packet().is_eof_packet()

    def execute(self, *parameters, send_types=True, flags=0):
        """Rows as a list of tuples, or the number of affected rows."""
        body = struct.pack("<IBI", self.id, flags, 1)
        if self.parameters_count:
            nulls = bytearray((len(parameters) + 7) // 8)
            for at, parameter in enumerate(parameters):
                if parameter is not None and parameter.value is None:
                    nulls[at // 8] |= 1 << (at % 8)
            body += bytes(nulls) + (b"\1" if send_types else b"\0")
            if send_types:
                for parameter in parameters:
                    kind = FIELD_TYPE.BLOB if parameter is None else parameter.kind
                    unsigned = parameter is not None and parameter.unsigned
                    body += bytes([kind, UNSIGNED_TYPE if unsigned else 0])
            # None stands for a parameter that was sent as long data before.
            body += b"".join(
                parameter.encoded()
                for parameter in parameters
                if parameter is not None and parameter.value is not None
            )
        self.connection._execute_command(COM_STMT_EXECUTE, body)
        return self.read_result()

    def read_result(self):
        packet = self.connection._read_packet()
        if packet.is_ok_packet():
            return pymysql.connections.OKPacketWrapper(packet).affected_rows
        columns = [
            self.connection._read_packet(pymysql.connections.FieldDescriptorPacket)
            for _ in range(packet.read_length_encoded_integer())
        ]
        assert self.connection._read_packet().is_eof_packet()
        found = []
        while True:
            packet = self.connection._read_packet()
            if packet.is_eof_packet():
                return found
            found.append(decode_row(packet, columns))

    def send_long_data(self, index, data):
        self.connection._execute_command(
            COM_STMT_SEND_LONG_DATA, struct.pack("<IH", self.id, index) + data
        )
        self.connection._next_seq_id = 0

    def reset(self):
        self.connection._execute_command(COM_STMT_RESET, struct.pack("<I", self.id))
        assert self.connection._read_packet().is_ok_packet()

    def close(self):
        self.connection._execute_command(COM_STMT_CLOSE, struct.pack("<I", self.id))


def decode_row(packet, columns):
    data = packet.get_all_data()
    assert data[0] == 0, "a binary row begins with a zero byte"
    bitmap_bytes = (len(columns) + 7 + 2) // 8
    bitmap = data[1 : 1 + bitmap_bytes]
    packet.advance(1 + bitmap_bytes)
    values = []
    for at, column in enumerate(columns):
        if bitmap[(at + 2) // 8] & (1 << ((at + 2) % 8)):
            values.append(None)
        else:
            values.append(decode_value(packet, column))
    assert packet._position == len(data), "bytes are left after the last value"
    return tuple(values)


def decode_value(packet, column):
    kind = column.type_code
    if kind in INTEGERS:
        code = INTEGERS[kind]
        code = code.upper() if column.flags & UNSIGNED_FLAG else code
        return struct.unpack("<" + code, packet.read(struct.calcsize("<" + code)))[0]
    if kind == FIELD_TYPE.FLOAT:
        return struct.unpack("<f", packet.read(4))[0]
    if kind == FIELD_TYPE.DOUBLE:
        return struct.unpack("<d", packet.read(8))[0]
    if kind in (FIELD_TYPE.DATE, FIELD_TYPE.NEWDATE, FIELD_TYPE.DATETIME, FIELD_TYPE.TIMESTAMP):
        return decode_datetime(packet.read(packet.read_uint8()), kind == FIELD_TYPE.DATE)
    if kind == FIELD_TYPE.TIME:
        return decode_time(packet.read(packet.read_uint8()))
    raw = packet.read_length_coded_string()
    if kind in (FIELD_TYPE.DECIMAL, FIELD_TYPE.NEWDECIMAL):
        return decimal.Decimal(raw.decode())
    return raw if column.charsetnr == 63 else raw.decode()


def simple(connection, sql):
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def integer(value):
    return Parameter(FIELD_TYPE.LONGLONG, value)


def text(value):
    return Parameter(FIELD_TYPE.VAR_STRING, value)


def check_statements(connection, equal):
    """Prepare, execute many times, reset, close; point reads, lists, limits, writes."""
    simple(connection, "CREATE TABLE ps (a INT, b INT, v VARCHAR(20), PRIMARY KEY (a, b))")
    insert = Statement(connection, "INSERT INTO ps VALUES (?, ?, ?)")
    equal((insert.parameters_count, insert.columns_count), (3, 0))
    for a in range(3):
        for b in range(3):
            equal(insert.execute(integer(a), integer(b), text(f"{a}-{b}")), 1)
    point = Statement(connection, "SELECT v FROM ps WHERE a = ? AND b = ?")
    equal((point.parameters_count, point.columns_count), (2, 1))
    for a in range(4):
        expected = [(f"{a}-1",)] if a < 3 else []
        equal(point.execute(integer(a), integer(1)), expected)
    # Without types: those of the last execution count.
    equal(point.execute(integer(2), integer(2), send_types=False), [("2-2",)])
    # Other types for the same parameters.
    equal(point.execute(text("1"), Parameter(FIELD_TYPE.TINY, 2)), [("1-2",)])
    equal(point.execute(Parameter(FIELD_TYPE.DOUBLE, 1.0), integer(0)), [("1-0",)])
    equal(point.execute(Parameter(FIELD_TYPE.NULL, None), integer(0)), [])
    several = Statement(connection, "SELECT b, v FROM ps WHERE a IN (?, ?) AND b >= ? LIMIT ?")
    equal(
        several.execute(integer(0), integer(2), integer(1), integer(3)),
        [(1, "0-1"), (2, "0-2"), (1, "2-1")],
    )
    update = Statement(connection, "UPDATE ps SET v = CONCAT(v, ?) WHERE a = ?")
    equal(update.execute(text("!"), integer(1)), 3)
    equal(point.execute(integer(1), integer(1)), [("1-1!",)])
    constant = Statement(connection, "SELECT 1, 'x', NULL")
    equal(constant.execute(), [(1, "x", None)])
    echo = Statement(connection, "SELECT ? + 1, CONCAT(?, 'b')")
    (row,) = echo.execute(integer(41), text("a"))
    equal((int(row[0]), row[1]), (42, "ab"))
    # Long data in pieces, then again without.
    long_text = Statement(connection, "SELECT LENGTH(?), ?")
    long_text.send_long_data(0, b"abc")
    long_text.send_long_data(0, b"defg")
    equal(long_text.execute(None, text("z"))[0][0], 7)
    long_text.send_long_data(0, b"dropped by the reset")
    long_text.reset()
    equal(long_text.execute(text("abc"), text("z"))[0][0], 3)
    # Many statements at once; a closed one is gone, the others stay.
    statements = [Statement(connection, f"SELECT {n} + ?") for n in range(50)]
    for n, statement in enumerate(statements):
        equal(int(statement.execute(integer(1))[0][0]), n + 1)
    for statement in statements:
        statement.close()
    equal(point.execute(integer(0), integer(0)), [("0-0",)])
    # The table is made anew between executions: the statement is planned anew.
    simple(connection, "DROP TABLE ps")
    simple(connection, "CREATE TABLE ps (a INT, b INT, v VARCHAR(20), x INT, PRIMARY KEY (a, b))")
    equal(point.execute(integer(0), integer(0)), [])
    transaction = Statement(connection, "INSERT INTO ps (a, b) VALUES (?, ?)")
    simple(connection, "BEGIN")
    equal(transaction.execute(integer(7), integer(7)), 1)
    equal(point.execute(integer(7), integer(7)), [(None,)])
    simple(connection, "ROLLBACK")
    equal(point.execute(integer(7), integer(7)), [])


def check_types(connection, equal):
    """Every type as a parameter of its own wire type and as a binary result."""
    cases = [
        ("TINYINT", FIELD_TYPE.TINY, [-128, 127, 0], False),
        ("TINYINT UNSIGNED", FIELD_TYPE.TINY, [0, 255], True),
        ("BOOLEAN", FIELD_TYPE.TINY, [0, 1], False),
        ("SMALLINT", FIELD_TYPE.SHORT, [-(2**15), 2**15 - 1], False),
        ("SMALLINT UNSIGNED", FIELD_TYPE.SHORT, [0, 2**16 - 1], True),
        ("MEDIUMINT", FIELD_TYPE.LONG, [-(2**23), 2**23 - 1], False),
        ("MEDIUMINT UNSIGNED", FIELD_TYPE.LONG, [0, 2**24 - 1], True),
        ("INT", FIELD_TYPE.LONG, [-(2**31), 2**31 - 1], False),
        ("INT UNSIGNED", FIELD_TYPE.LONG, [0, 2**32 - 1], True),
        ("BIGINT", FIELD_TYPE.LONGLONG, [-(2**63), 2**63 - 1], False),
        ("BIGINT UNSIGNED", FIELD_TYPE.LONGLONG, [0, 2**64 - 1], True),
        ("YEAR", FIELD_TYPE.SHORT, [1901, 2155, 0], True),
        ("FLOAT", FIELD_TYPE.FLOAT, [0.0, -1.5, 2.0**100], False),
        ("DOUBLE", FIELD_TYPE.DOUBLE, [0.1, -1.7976931348623157e308, 5e-324], False),
        ("VARCHAR(300)", FIELD_TYPE.VAR_STRING, ["", "é" * 300, "a'b\\c\0d"], False),
        ("CHAR(10)", FIELD_TYPE.STRING, ["", "你好"], False),
        ("TEXT", FIELD_TYPE.BLOB, ["x" * 65535, ""], False),
        ("VARBINARY(300)", FIELD_TYPE.BLOB, [b"", bytes(range(256))], False),
        ("LONGBLOB", FIELD_TYPE.LONG_BLOB, [b"\xff" * 2**20], False),
        ("ENUM('one', 'two')", FIELD_TYPE.STRING, ["one", "two"], False),
        ("DATE", FIELD_TYPE.DATE, [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)], False),
        (
            "DATETIME(6)",
            FIELD_TYPE.DATETIME,
            [
                datetime.datetime(1000, 1, 1),
                datetime.datetime(2024, 2, 29, 12, 34, 56),
                datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
            ],
            False,
        ),
        (
            "TIMESTAMP(6) NULL",
            FIELD_TYPE.TIMESTAMP,
            [datetime.datetime(1970, 1, 2), datetime.datetime(2038, 1, 18, 3, 14, 7, 999999)],
            False,
        ),
        (
            "TIME(6)",
            FIELD_TYPE.TIME,
            [
                datetime.timedelta(0),
                datetime.timedelta(hours=1),
                datetime.timedelta(hours=838, minutes=59, seconds=59),
                -datetime.timedelta(hours=1, microseconds=1),
            ],
            False,
        ),
        (
            "DECIMAL(38,10)",
            FIELD_TYPE.NEWDECIMAL,
            ["0.0000000001", "-9999999999999999999999999999.9999999999"],
            False,
        ),
    ]
    for number, (declared, kind, values, unsigned) in enumerate(cases):
        simple(connection, f"CREATE TABLE bt{number} (id INT PRIMARY KEY, v {declared})")
        insert = Statement(connection, f"INSERT INTO bt{number} VALUES (?, ?)")
        select = Statement(connection, f"SELECT v FROM bt{number} WHERE id = ?")
        for at, value in enumerate([*values, None]):
            insert.execute(integer(at), Parameter(kind, value, unsigned))
            if kind == FIELD_TYPE.NEWDECIMAL and value is not None:
                value = decimal.Decimal(value)
            equal((declared, select.execute(integer(at))), (declared, [(value,)]))
        if kind != FIELD_TYPE.FLOAT:
            # The value also finds its row again, as a residual condition.
            find = Statement(connection, f"SELECT id FROM bt{number} WHERE id >= 0 AND v = ?")
            found = find.execute(Parameter(kind, values[0], unsigned))
            equal((declared, found[0]), (declared, (0,)))


def check_exact(connection, equal):
    """What is stored is what was sent: years by number and by text, bytes, NULL in every type."""
    simple(connection, "CREATE TABLE be (id INT PRIMARY KEY, y YEAR, b BLOB, v VARBINARY(300))")
    years = [
        (Parameter(kind, number, unsigned), stored)
        for kind in INTEGERS
        for unsigned in (False, True)
        for number, stored in ((0, 0), (1, 2001), (69, 2069), (70, 1970), (99, 1999))
    ] + [
        (Parameter(FIELD_TYPE.DOUBLE, 0.0), 0),
        (Parameter(FIELD_TYPE.DOUBLE, 0.4), 0),
        (Parameter(FIELD_TYPE.NEWDECIMAL, "0"), 0),
        (text("0"), 2000),
        (text("00"), 2000),
        (text("0000"), 0),
        (text("2155"), 2155),
        (Parameter(FIELD_TYPE.BLOB, b"0"), 2000),
    ]
    insert = Statement(connection, "INSERT INTO be (id, y) VALUES (?, ?)")
    update = Statement(connection, "UPDATE be SET y = ? WHERE id = ?")
    select = Statement(connection, "SELECT y FROM be WHERE id = ?")
    for at, (parameter, stored) in enumerate(years):
        insert.execute(integer(at), parameter)
        equal((parameter.kind, parameter.value, select.execute(integer(at))),
              (parameter.kind, parameter.value, [(stored,)]))
        update.execute(Parameter(FIELD_TYPE.NULL, None), integer(at))
        equal(select.execute(integer(at)), [(None,)])
        update.execute(parameter, integer(at))
        equal(select.execute(integer(at)), [(stored,)])
    # All bytes, those that are UTF-8 too, by every type that carries bytes.
    upsert = Statement(connection, "REPLACE INTO be VALUES (?, NULL, ?, ?)")
    select = Statement(connection, "SELECT b, v FROM be WHERE id = ?")
    every = bytes(range(256))
    for kind in (15, *range(249, 255)):
        for data in (every, every[::-1], bytes(range(128)), "é\0".encode(), b"\xff", b"'\\", b""):
            parameter = Parameter(kind, data)
            upsert.execute(integer(1000), parameter, parameter)
            equal((kind, select.execute(integer(1000))), (kind, [(data, data)]))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE be SET b = %s, v = %s WHERE id = 1000", (every, every))
    equal(select.execute(integer(1000)), [(every, every)])
    # NULL in every type, more than a byte of them, and mixed with values.
    kinds = [*INTEGERS, *range(0, 1), 4, 5, 6, 7, 10, 11, 12, 13, 15, 16, *range(245, 255)]
    echo = Statement(connection, "SELECT " + ", ".join("?" for _ in kinds))
    equal(echo.execute(*(Parameter(kind, None) for kind in kinds)), [(None,) * len(kinds)])
    for given in range(len(kinds)):
        parameters = [Parameter(kind, None) for kind in kinds]
        parameters[given] = integer(77)
        (row,) = echo.execute(*parameters)
        equal([at for at, value in enumerate(row) if value is not None], [given])


def check_errors(connection, equal):
    """Numbers of errors around prepared statements; the connection works after each."""

    def fails(errno, function, *arguments, **options):
        try:
            function(*arguments, **options)
        except pymysql.MySQLError as error:
            equal(error.args[0], errno)
        else:
            raise AssertionError(f"no error, expected {errno}")
        equal(simple(connection, "SELECT 1"), [(1,)])

    simple(connection, "CREATE TABLE pe (id INT PRIMARY KEY, t TINYINT)")
    fails(1064, Statement, connection, "SELECT FROM")
    fails(1146, Statement, connection, "SELECT * FROM nosuch WHERE id = ?")
    fails(1054, Statement, connection, "SELECT nosuch FROM pe WHERE id = ?")
    insert = Statement(connection, "INSERT INTO pe VALUES (?, ?)")
    insert.execute(integer(1), integer(1))
    fails(1062, insert.execute, integer(1), integer(1))
    fails(1264, insert.execute, integer(2), integer(1000))
    fails(1366, insert.execute, integer(2), text("abc"))
    insert.close()
    fails(1243, insert.execute, integer(3), integer(3))
    unknown = Statement(connection, "SELECT ?")
    unknown.id = 987654
    fails(1243, unknown.execute, integer(1))
