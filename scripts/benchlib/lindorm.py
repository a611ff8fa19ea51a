"""Rows of 20 columns with 20 bytes each; benches/load/lindorm.rs has the statements."""

from .matrix import Load, measure

ROWS_MAX = 1_000_000
# By work: what it is, connections, what is counted, and how many of it come with one statement.
WORKS = {
    "get": ("one row read", 32, "rows", 1),
    "range": ("50 rows from a key on", 32, "ranges", 1),
    "put": ("one row written", 64, "rows", 1),
    "batch-put": ("100 rows written at once", 8, "rows", 100),
}


def fill(server, rows):
    if server.filled.get("lindorm") != rows:
        server.load("fill-lindorm", rows=rows)
        server.filled["lindorm"] = rows


def bench_work(work):
    what, connections, unit, per_statement = WORKS[work]

    def bench(table, servers, options):
        rows = min(options.rows, ROWS_MAX)
        measure(table, servers, options, Load(
            "lindorm", f"lindorm-{work}", f"20 columns x 20 bytes, {connections} connections: {what}",
            lambda server: server.load(f"lindorm-{work}", connections=connections, rows=rows,
                                       put=server.put, seconds=options.seconds),
            unit, per_statement, lambda server: fill(server, rows),
        ))

    return bench


BENCHES = {f"lindorm-{work}": bench_work(work) for work in WORKS}
