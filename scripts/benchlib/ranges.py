"""Ranges of which nearly all is dead, and keys that are spread over buckets."""

from .points import SCAN_ROWS
from .table import median, per_second

SPARSE_SQL = "SELECT * FROM sparse WHERE id >= 0 LIMIT 100"
# Rows that one statement changes: more would need more memory than a statement has.
CHUNK_ROWS = 200_000
# The rows that a table loses, 99 of 100: in between, or all before the others.
BETWEEN, BEFORE = "id % 100 <> 0", "id <= {most}"
DELETED, ENDED = "DELETE FROM sparse", "UPDATE sparse SET k = k + 1"
# Rows are written as if that had been long ago, so that they end all at once this many seconds later; then
# the query comes at once.
END_SECONDS = 40
WRITE_FOR_END = (
    f"SET @end = UNIX_TIMESTAMP() + {END_SECONDS}",
    "SET debug_ttl_clock = @end - 3600",
)
AWAIT_END = (
    "SET debug_ttl_clock = DEFAULT",
    "DO SLEEP(GREATEST(0, @end - UNIX_TIMESTAMP(NOW(6)) + 0.001))",
)
SPARSE = {
    "99 of 100 deleted": (DELETED, BETWEEN),
    "all before the last 1 % deleted": (DELETED, BEFORE),
    "99 of 100 ended": (ENDED, BETWEEN),
    "all before the last 1 % ended": (ENDED, BEFORE),
}


def thinned(change, which, rows):
    """The statements that leave one row of a hundred."""
    which = which.format(most=rows // 100 * 99)
    parts = [f"{change} WHERE id >= {first} AND id < {first + CHUNK_ROWS} AND {which}"
             for first in range(0, rows + 1, CHUNK_ROWS)]
    return ";".join([*WRITE_FOR_END, *parts, *AWAIT_END] if change == ENDED else parts)


def bench_sparse(table, servers, options):
    """A hundred rows of a range of which nearly all is dead, against a fresh table."""
    server = servers[0]
    rows = min(options.rows, 1_000_000)
    server.load("fill-points", rows=rows)
    for what, (change, which) in SPARSE.items():
        found = {"fresh": [], "after": [], "compacted": []}
        ttl = " WITH (TTL='3600')" if change == ENDED else ""
        for _ in range(options.repeats):
            for sql in (
                "DROP TABLE IF EXISTS sparse",
                f"CREATE TABLE sparse (id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL){ttl}",
                "INSERT INTO sparse SELECT * FROM points WHERE id >= 0",
                "OPTIMIZE TABLE sparse",
            ):
                server.load("sql", sql=sql)
            found["fresh"].append(server.load("repeat", sql=SPARSE_SQL))
            setup = thinned(change, which, rows)
            found["after"].append(server.load("repeat", sql=SPARSE_SQL, setup=setup))
            found["compacted"].append(
                server.load("repeat", sql=SPARSE_SQL, setup="OPTIMIZE TABLE sparse"))
        assert all(one["rows"] == 100 for runs in found.values() for one in runs), found
        fresh = median(found["fresh"], lambda r: r["p50_us"])
        first = median(found["fresh"], lambda r: r["first_us"])
        name = f"100 rows of {rows:,}, {what}: us"
        table.add(f"{name}, before", f"{fresh:,.0f}", "", "", "", None)
        for when, runs in (("right after", found["after"]), ("after compaction", found["compacted"])):
            ours = median(runs, lambda r: r["p50_us"])
            table.add(f"  {when}", f"{ours:,.0f}", "", f"{ours / fresh:.2f}", "<= 2", ours <= 2 * fresh)
            ours = median(runs, lambda r: r["first_us"])
            table.add("  the first of them", f"{ours:,.0f}", "", f"{ours / first:.2f}", "<= 2",
                      ours <= 2 * first)


# Keys of one table: as they rise, and behind a bucket.
SPREAD_KEYS = {"plain": "(id)", "spread": "(bucket(id, 16), id)"}


def bench_spread(table, servers, options):
    """A rising key, and the same behind 16 buckets: what writers get, and what a range read pays."""
    meseta = next(server for server in servers if server.name == "meseta")

    def make(name, columns, key):
        meseta.load("sql", sql=f"DROP TABLE IF EXISTS {name}")
        meseta.load("sql", sql=f"CREATE TABLE {name} (id BIGINT, {columns}, PRIMARY KEY {key})")

    rates = {name: [] for name in SPREAD_KEYS}
    for _ in range(options.repeats):
        for name, key in SPREAD_KEYS.items():
            meseta.load("fill-nothing")
            make("writes", "k INT NOT NULL, c VARCHAR(120) NOT NULL", key)
            rates[name].append(meseta.load("insert", connections=64, seconds=options.seconds))
    plain, spread = (median(rates[name], per_second) for name in SPREAD_KEYS)
    table.add("durable INSERT of rising keys, 64 connections, 16 buckets beside none: statements/s",
              f"{spread:,.0f}", f"(no bucket) {plain:,.0f}", f"{spread / plain:.2f}", "", None)
    meseta.load("fill-scan", rows=SCAN_ROWS)
    for name, key in SPREAD_KEYS.items():
        make(f"range_{name}", "payload VARCHAR(120) NOT NULL", key)
        meseta.load("sql", sql=f"INSERT INTO range_{name} SELECT id, payload FROM scan WHERE k = 1")
    for what, rest in (("range", ""), ("range, ORDER BY key DESC", " ORDER BY id DESC")):
        found = {name: [] for name in SPREAD_KEYS}
        for repeat in range(options.repeats + 1):
            for name in SPREAD_KEYS:
                sql = f"SELECT id, payload FROM range_{name} WHERE id >= {SCAN_ROWS // 10}{rest}"
                result = meseta.load("query", sql=sql)
                # The first run finds the files cold.
                if repeat:
                    found[name].append(result)
        for unit, value in (("s", lambda r: r["seconds"]), ("server CPU, s", lambda r: r["server_cpu"])):
            plain, spread = (median(found[name], value) for name in SPREAD_KEYS)
            ratio = spread / plain
            goal = ("<= 1.3", ratio <= 1.3) if unit == "s" else ("", None)
            table.add(f"{what} of {SCAN_ROWS * 9 // 10:,} rows, 16 buckets beside none: {unit}",
                      f"{spread:.3f}", f"(no bucket) {plain:.3f}", f"{ratio:.2f}", *goal)
