"""The checklist of conformance/README.md by a client of Python's DB-API (PEP 249).

A client's `run` makes a `Driver` of its own and calls `main`. What a client cannot do is told by the
driver as a skip with the reason. Not the checks that one client alone has: those are in its folder.
"""

import datetime
import decimal
import gc
import json
import os
import resource
import ssl
import struct
import sys
import threading
import time
import traceback

HOST = os.environ.get("MESETA_HOST", "127.0.0.1")
PORT = int(os.environ.get("MESETA_PORT", "3306"))
DATABASE = os.environ.get("MESETA_DATABASE", "dbapi_check")
PASSWORD = os.environ.get("MESETA_PASSWORD", "")
CERTIFICATE = os.environ.get("MESETA_SERVER_CERT")
CHECKLIST = os.environ.get("MESETA_CHECKLIST", os.path.join(os.path.dirname(__file__), "checklist"))

LARGE_BYTES = 20_000_000
"""The value of `value-20mb`."""

STREAM_KIB_MAX = 100_000
"""What reading a million rows may add to the most memory this process had."""

WHY_CHARS_MAX = 300
"""Characters of a failure that are printed."""


class Skip(Exception):
    """Something that the client cannot do."""


class Driver:
    """A client. What is not overridden is what most clients do."""

    mark = "%s"
    """A place of a parameter."""

    prepares = None
    """`None` when it has prepared statements, else why not."""

    leaves_out = {}
    """Columns of types.tsv whose values the client's types cannot hold, with the reason."""

    lost = (0,)
    """Error numbers for a connection that is gone; 0 stands for none."""

    def __init__(self, module):
        self.module = module

    def connect(self, user="root", password="", database=DATABASE, tls=False, autocommit=True, multi=False):
        raise NotImplementedError

    def version(self):
        raise NotImplementedError

    def server_version(self, connection):
        raise Skip("the client does not tell the server's version")

    def prepared(self, connection):
        """A cursor whose parameters are prepared by the server."""
        raise Skip(self.prepares or "no prepared statements")

    def streaming(self, connection):
        """A cursor that does not read all rows first."""
        raise Skip("the client reads all rows first")

    def errno(self, error):
        return error.args[0]

    def sqlstate(self, _error):
        """`None` when the client does not tell it."""
        return None

    def results(self, connection, statements):
        """The rows of each of several statements in one."""
        cursor = connection.cursor()
        cursor.execute(statements)
        found = []
        while True:
            found.append([tuple(row) for row in cursor.fetchall()] if cursor.description else None)
            if not cursor.nextset():
                break
        cursor.close()
        return found

    def parameter(self, _kind, value):
        """A value as the client takes it for a parameter."""
        return value

    def browse(self, connection):
        """By SHOW and information_schema, when the client has nothing of its own."""
        names = [row[0] for row in rows(connection, f"SHOW TABLES FROM {DATABASE}")]
        equal("browsed" in [text_of(name) for name in names], True)
        found = rows(connection, "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_KEY FROM information_schema.COLUMNS"
                     f" WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = 'browsed' ORDER BY ORDINAL_POSITION")
        equal([tuple(map(text_of, row)) for row in found], [("id", "int", "PRI"), ("name", "varchar", "MUL")])
        found = rows(connection, "SELECT INDEX_NAME FROM information_schema.STATISTICS"
                     f" WHERE TABLE_SCHEMA = '{DATABASE}' AND TABLE_NAME = 'browsed' ORDER BY INDEX_NAME")
        equal([text_of(row[0]) for row in found], ["PRIMARY", "by_name"])

    def metadata(self, cursor):
        """Looks closer at the description of `SELECT id, name AS n, 1.50 AS d FROM browsed`."""
        equal([one[0] for one in cursor.description], ["id", "n", "d"])

    def is_insecure(self):
        """Whether the client logs in with caching_sha2_password where there is no TLS."""
        return True


def rows(connection, sql, parameters=None):
    cursor = connection.cursor()
    try:
        cursor.execute(sql, parameters) if parameters is not None else cursor.execute(sql)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    finally:
        cursor.close()


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"found {found!r:.200}, expected {expected!r:.200}")


def fails(driver, connection, errno, sqlstate, sql):
    try:
        rows(connection, sql)
    except driver.module.Error as error:
        equal((sql, driver.errno(error)), (sql, errno))
        if driver.sqlstate(error) is not None:
            equal((sql, driver.sqlstate(error)), (sql, sqlstate))
        return
    raise AssertionError(f"no error, expected {errno}: {sql}")


def text_of(value):
    return value.decode() if isinstance(value, (bytes, bytearray)) else value


def native(kind, text):
    """A value of types.tsv in Python's own type."""
    if kind in ("bool", "int", "uint", "year"):
        return int(text)
    if kind in ("float", "double"):
        return float(text)
    if kind == "decimal":
        return decimal.Decimal(text)
    if kind == "bytes":
        return bytes.fromhex(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "time":
        sign = -1 if text[0] == "-" else 1
        hours, minutes, seconds = text.lstrip("-").split(":")
        return sign * datetime.timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    if kind == "datetime":
        return datetime.datetime.fromisoformat(text)
    return text


def same(kind, found, listed):
    """Whether a value that was read is the one of the list."""
    if kind == "float":
        narrow = lambda number: struct.unpack("f", struct.pack("f", number))[0]
        return abs(found - listed) <= abs(listed) * 1e-5 or narrow(found) == narrow(listed)
    if kind == "double":
        return float(found) == listed
    if kind == "json":
        return (found if isinstance(found, (dict, list)) else json.loads(text_of(found))) == json.loads(listed)
    if kind == "bytes":
        return bytes(found) == listed
    if kind == "string":
        return text_of(found) == listed
    if kind == "bool":
        return int(found) == listed
    return found == listed and (kind == "bool" or type(found) is type(listed))


def columns():
    with open(os.path.join(CHECKLIST, "types.tsv"), encoding="utf-8") as lines:
        fields = [line.rstrip("\n").split("\t") for line in lines]
    return [(name, sql, kind, (native(kind, first), native(kind, second))) for name, sql, kind, first, second in fields]


def compare(driver, found):
    equal(len(found), 3)
    wrong = []
    for at, (name, _, kind, values) in enumerate(columns()):
        if name in driver.leaves_out:
            continue
        for row in (0, 1):
            if not same(kind, found[row][at + 1], values[row]):
                wrong.append(f"{name}: found {found[row][at + 1]!r}, expected {values[row]!r}")
        if found[2][at + 1] is not None:
            wrong.append(f"{name}: found {found[2][at + 1]!r}, expected NULL")
    if wrong:
        raise AssertionError("; ".join(wrong))


def names_but(driver):
    return ", ".join(["id"] + ["NULL" if name in driver.leaves_out else name for name, *_ in columns()])


CHECKS = []


def check(name):
    def register(function):
        CHECKS.append((name, function))
        return function
    return register


@check("connect")
def connect(driver):
    with closing(driver.connect()) as connection:
        equal(int(rows(connection, "SELECT 1 + 1")[0][0]), 2)
        version = text_of(rows(connection, "SELECT VERSION()")[0][0])
        try:
            equal(version.startswith(driver.server_version(connection)), True)
        except Skip:
            pass


@check("connect-tls")
def connect_tls(driver):
    if not CERTIFICATE:
        raise Skip("the server is somebody else's: its certificate is not known")
    with closing(driver.connect(tls=True)) as connection:
        (row,) = rows(connection, "SHOW STATUS LIKE 'Ssl_cipher'")
        equal(len(text_of(row[1])) > 0, True)


def log_in(driver, user, tls):
    with closing(driver.connect(user=user, password=PASSWORD, tls=tls)) as connection:
        equal(text_of(rows(connection, "SELECT CURRENT_USER()")[0][0]), f"{user}@%")
    try:
        driver.connect(user=user, password="wrong", tls=tls)
    except driver.module.Error as error:
        equal(driver.errno(error), 1045)
        return
    raise AssertionError("a wrong password logs in")


@check("login-native")
def login_native(driver):
    log_in(driver, os.environ["MESETA_NATIVE_USER"], False)


@check("login-sha2")
def login_sha2(driver):
    user = os.environ["MESETA_SHA2_USER"]
    log_in(driver, user, bool(CERTIFICATE))
    # The fast path is for who has logged in before.
    if driver.is_insecure():
        with closing(driver.connect(user=user, password=PASSWORD)) as connection:
            equal(int(rows(connection, "SELECT 1")[0][0]), 1)


@check("text")
def text(driver):
    with closing(driver.connect()) as connection:
        rows(connection, "CREATE TABLE texts (id INT PRIMARY KEY, v VARCHAR(100))")
        cursor = connection.cursor()
        cursor.execute("INSERT INTO texts VALUES (1, '日本語 😀'), (2, 'it''s') -- two")
        equal(cursor.rowcount, 2)
        cursor.close()
        found = rows(connection, "/* a comment */ SELECT id, v FROM texts WHERE id IN (1, 2) # end")
        equal([(int(number), text_of(value)) for number, value in found], [(1, "日本語 😀"), (2, "it's")])


@check("prepared")
def prepared(driver):
    with closing(driver.connect()) as connection:
        rows(connection, "CREATE TABLE prepared (id INT PRIMARY KEY, n BIGINT, s VARCHAR(100))")
        cursor = driver.prepared(connection)
        insert = f"INSERT INTO prepared VALUES ({driver.mark}, {driver.mark}, {driver.mark})"
        for row in ((1, 2**62, "one"), (2, -5, "zwei 😀"), (3, None, None), (4, 0, "")):
            cursor.execute(insert, row)
        cursor.close()
        cursor = driver.prepared(connection)
        for identity, n, s in ((1, 2**62, "one"), (2, -5, "zwei 😀"), (3, None, None), (4, 0, "")):
            cursor.execute(f"SELECT n, s FROM prepared WHERE id = {driver.mark}", (identity,))
            equal([tuple(row) for row in cursor.fetchall()], [(n, s)])
        cursor.close()
        equal(int(rows(connection, "SELECT 1")[0][0]), 1)


@check("types-text")
def types_text(driver):
    with closing(driver.connect()) as connection:
        compare(driver, rows(connection, f"SELECT {names_but(driver)} FROM conformance.types WHERE id IN (1, 2, 3)"))


@check("types-prepared")
def types_prepared(driver):
    with closing(driver.connect()) as connection:
        cursor = driver.prepared(connection)
        rows(connection, "CREATE TABLE typed LIKE conformance.types")
        used = [one for one in columns() if one[0] not in driver.leaves_out]
        places = ", ".join([driver.mark] * (len(used) + 1))
        insert = f"INSERT INTO typed (id, {', '.join(one[0] for one in used)}) VALUES ({places})"
        for row in (0, 1):
            cursor.execute(insert, (row + 1, *(driver.parameter(kind, values[row]) for _, _, kind, values in used)))
        cursor.execute(insert, (3, *[None] * len(used)))
        cursor.execute(f"SELECT {names_but(driver)} FROM typed WHERE id IN ({driver.mark}, 2, 3)", (1,))
        compare(driver, [tuple(row) for row in cursor.fetchall()])
        cursor.close()


@check("nulls")
def nulls(driver):
    with closing(driver.connect()) as connection:
        rows(connection, "CREATE TABLE nulls LIKE conformance.types")
        used = [one[0] for one in columns()]
        insert = f"INSERT INTO nulls (id, {', '.join(used)}) VALUES ({', '.join([driver.mark] * (len(used) + 1))})"
        rows(connection, insert, (1, *[None] * len(used)))
        (row,) = rows(connection, "SELECT * FROM nulls WHERE id = 1")
        equal(list(row[1:]), [None] * len(used))
        (row,) = rows(connection, f"SELECT {driver.mark} IS NULL, NULL", (None,))
        equal((int(row[0]), row[1]), (1, None))


@check("empty-result")
def empty_result(driver):
    with closing(driver.connect()) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id, c_text FROM conformance.types WHERE id = 9")
        equal([one[0] for one in cursor.description], ["id", "c_text"])
        equal(list(cursor.fetchall()), [])
        cursor.close()
        (row,) = rows(connection, "SELECT '', NULL")
        equal((text_of(row[0]), row[1]), ("", None))


@check("value-20mb")
def value_20mb(driver):
    value = bytes(range(256)) * (LARGE_BYTES // 256) + bytes(LARGE_BYTES % 256)
    with closing(driver.connect()) as connection:
        rows(connection, "CREATE TABLE large (id INT PRIMARY KEY, " + ", ".join(f"v{n} LONGBLOB" for n in range(10)) + ")")
        # One value is at most 2 MiB (docs/limits.md): ten of them are one row, and go as one.
        part = LARGE_BYTES // 10
        values = [value[start:start + part] for start in range(0, LARGE_BYTES, part)]
        places = ", ".join([driver.mark] * 10)
        rows(connection, f"INSERT INTO large VALUES (1, {places})", tuple(values))
        (row,) = rows(connection, "SELECT * FROM large WHERE id = 1")
        equal([bytes(found) == sent for found, sent in zip(row[1:], values)], [True] * 10)
        (row,) = rows(connection, f"SELECT LENGTH({driver.mark})", (value,))
        equal(int(row[0]), LARGE_BYTES)


@check("multi-statement")
def multi_statement(driver):
    with closing(driver.connect(multi=True)) as connection:
        found = driver.results(connection, "SELECT 1; SET @a = 5; SELECT @a, 6")
        found = [[tuple(map(int, row)) for row in one] for one in found if one is not None]
        equal(found, [[(1,)], [(5, 6)]])
        try:
            driver.results(connection, "SELECT 1; SELECT nosuch; SELECT 3")
        except Exception as error:  # noqa: BLE001  some clients raise others here
            equal(driver.errno(error), 1054)
            return
        raise AssertionError("the error in the middle is not told")


@check("stream-1m")
def stream_1m(driver):
    with closing(driver.connect()) as connection:
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        cursor = driver.streaming(connection)
        cursor.execute("SELECT id, name FROM conformance.million WHERE id > 0")
        count, total = 0, 0
        while True:
            page = cursor.fetchmany(1000)
            if not page:
                break
            count += len(page)
            total += sum(int(row[0]) for row in page)
        cursor.close()
        equal((count, total), (1_000_000, 500_000_500_000))
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        equal(grown < STREAM_KIB_MAX, True)


@check("errors")
def errors(driver):
    with open(os.path.join(CHECKLIST, "errors.tsv"), encoding="utf-8") as lines:
        cases = [line.rstrip("\n").split("\t") for line in lines]
    with closing(driver.connect()) as connection:
        for errno, sqlstate, sql in cases:
            fails(driver, connection, int(errno), sqlstate, sql)
            equal(int(rows(connection, "SELECT 1")[0][0]), 1)


@check("kill")
def kill(driver):
    with closing(driver.connect()) as victim, closing(driver.connect()) as killer:
        identity = int(rows(victim, "SELECT CONNECTION_ID()")[0][0])
        said = []

        def sleep():
            try:
                said.append(rows(victim, "SELECT SLEEP(30)"))
            except driver.module.Error as error:
                said.append(driver.errno(error))

        thread = threading.Thread(target=sleep)
        thread.start()
        time.sleep(0.5)
        start = time.monotonic()
        rows(killer, f"KILL QUERY {identity}")
        thread.join(10)
        equal((thread.is_alive(), time.monotonic() - start < 5), (False, True))
        equal(int(rows(victim, "SELECT 1")[0][0]), 1)
        rows(killer, f"KILL {identity}")
        time.sleep(0.3)
        expect_gone(driver, victim)


def expect_gone(driver, connection):
    try:
        rows(connection, "SELECT 1")
    except (driver.module.Error, OSError):
        return
    raise AssertionError("the connection is still there")


@check("transaction")
def transaction(driver):
    with closing(driver.connect(autocommit=False)) as own, closing(driver.connect()) as other:
        count = lambda connection: int(rows(connection, "SELECT COUNT(*) FROM moved WHERE id > 0")[0][0])
        rows(other, "CREATE TABLE moved (id INT PRIMARY KEY)")
        rows(own, "INSERT INTO moved VALUES (1)")
        equal((count(own), count(other)), (1, 0))
        own.rollback()
        equal((count(own), count(other)), (0, 0))
        rows(own, "INSERT INTO moved VALUES (2)")
        own.commit()
        equal((count(own), count(other)), (1, 1))
        own.commit()
        rows(own, "SET autocommit = 1")
        rows(own, "INSERT INTO moved VALUES (3)")
        equal(count(other), 2)


@check("batch-insert")
def batch_insert(driver):
    with closing(driver.connect(autocommit=False)) as connection:
        rows(connection, "CREATE TABLE batch (id INT PRIMARY KEY, v VARCHAR(40))")
        cursor = connection.cursor()
        many = [(n, f"row {n}") for n in range(10_000)]
        cursor.executemany(f"INSERT INTO batch (id, v) VALUES ({driver.mark}, {driver.mark})", many)
        if cursor.rowcount not in (10_000, -1):
            raise AssertionError(f"rowcount {cursor.rowcount}")
        cursor.close()
        connection.commit()
        (row,) = rows(connection, "SELECT COUNT(*), SUM(id), MAX(v) FROM batch WHERE id >= 0")
        equal((int(row[0]), int(row[1]), text_of(row[2])), (10_000, 49_995_000, "row 9999"))


def make_browsed(connection):
    rows(connection, "CREATE TABLE IF NOT EXISTS browsed (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, INDEX by_name (name))")


@check("metadata")
def metadata(driver):
    with closing(driver.connect()) as connection:
        make_browsed(connection)
        cursor = connection.cursor()
        cursor.execute("SELECT id, name AS n, 1.50 AS d FROM browsed WHERE id = 1")
        driver.metadata(cursor)
        cursor.fetchall()
        cursor.close()


@check("browse")
def browse(driver):
    with closing(driver.connect()) as connection:
        make_browsed(connection)
        driver.browse(connection)


@check("reconnect")
def reconnect(driver):
    with closing(driver.connect()) as connection:
        rows(connection, "SET SESSION wait_timeout = 1")
        time.sleep(2.5)
        expect_gone(driver, connection)
    with closing(driver.connect()) as connection:
        equal(int(rows(connection, "SELECT 1")[0][0]), 1)


class closing:
    """Closes a connection that may be gone."""

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        return self.connection

    def __exit__(self, *_):
        try:
            self.connection.close()
        except Exception:  # noqa: BLE001  it is gone
            pass


def trusting():
    """Trusts the server's own certificate and nothing else."""
    return ssl.create_default_context(cafile=CERTIFICATE)


def main(driver, checks=None):
    """Runs the checks; the exit code."""
    failed = 0
    print("version " + driver.version(), flush=True)
    for name, function in checks or CHECKS:
        try:
            function(driver)
        except Skip as skip:
            print(f"skip {name}: {skip}", flush=True)
        except Exception as error:  # noqa: BLE001  whatever the client raises
            failed += 1
            told = " ".join(f"{type(error).__name__}: {error}".split())
            print(f"FAIL {name}: {told[:WHY_CHARS_MAX]}", flush=True)
            traceback.print_exc(file=sys.stderr)
        else:
            print(f"ok {name}", flush=True)
    for column, reason in driver.leaves_out.items():
        print(f"skip types-{column}: {reason}")
    return 1 if failed else 0
