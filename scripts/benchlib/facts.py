"""Queries over many rows: counts, groups, sorts, joins, and what they do to others."""

import time

from .points import POINT_ROWS
from .quiet import quietly
from .servers import settle
from .table import alternate, median, two

# What both servers may hold in memory: Meseta by default, MariaDB's buffers are set to the same.
QUERY_MEMORY = 256 << 20
FULL_SCAN = "/*+ _l_allow_filtering_ */"
FACTS = {
    "count": ("COUNT(*)", f"SELECT {FULL_SCAN} COUNT(*) FROM facts", 3),
    "group-prefix": (
        "GROUP BY on a key prefix", f"SELECT {FULL_SCAN} k, COUNT(*), SUM(v) FROM facts GROUP BY k", 1,
    ),
    "group-hash": (
        "GROUP BY hash of 1 M groups",
        f"SELECT {FULL_SCAN} g, COUNT(*), SUM(v) FROM facts GROUP BY g", 1,
    ),
    "sort-spill": (
        "ORDER BY with spill", f"SELECT {FULL_SCAN} id, payload FROM facts ORDER BY v", 1,
    ),
}


def fill_facts(servers, options):
    for server in servers:
        if not server.has_facts:
            server.load("fill-facts", rows=options.rows)
            server.has_facts = True


def bench_facts(name):
    """One statement over all rows of one table; the same rows go to one client, which counts them."""
    what, sql, goal = FACTS[name]
    setup = {
        "meseta": "",
        "innodb": f"SET sort_buffer_size={QUERY_MEMORY};SET tmp_memory_table_size={QUERY_MEMORY};"
                  f"SET max_heap_table_size={QUERY_MEMORY}",
    }

    def bench(table, servers, options):
        fill_facts(servers, options)
        settle(servers)
        for server in servers:
            server.load("query", sql=sql, setup=setup[server.name])
        found = alternate(
            servers, options.repeats,
            lambda s: s.load("query", sql=sql, setup=setup[s.name]),
        )
        # The load generator tells milliseconds: what takes less counts as one.
        speed = lambda r: options.rows / max(r["seconds"], 0.001)  # noqa: E731
        text = f"{what} of {options.rows:,} rows: rows/s"
        two(table, found, text, speed, "{:,.0f}", (f">= {goal}", lambda ratio: ratio >= goal))
        two(table, found, "  the same: server CPU, s", lambda r: r["server_cpu"], "{:.2f}",
            ("", lambda _: None))
        growth = lambda r: (r["rss_most_kib"] - r["rss_before_kib"]) / 1024  # noqa: E731
        two(table, found, "  the same: growth of memory, MiB", growth, "{:.0f}", ("", lambda _: None))

    return bench


JOIN_ROWS = 100_000
JOINS = {
    "the primary key": "SELECT COUNT(*), SUM(p.k) FROM links l JOIN points p ON p.id = l.point "
                       f"WHERE l.id <= {JOIN_ROWS}",
    "an index": "SELECT COUNT(*), SUM(l.k) FROM points p JOIN links l ON l.point = p.id "
                f"WHERE p.id <= {JOIN_ROWS}",
}


def fill_links(server):
    """One link to each point, in an order of their own."""
    server.load("fill-points", rows=POINT_ROWS)
    for sql in (
        "DROP TABLE IF EXISTS links",
        "CREATE TABLE links (id BIGINT PRIMARY KEY, point BIGINT NOT NULL, k INT NOT NULL, KEY (point))",
        f"INSERT INTO links SELECT id, id * 7919 % {POINT_ROWS} + 1, k FROM points WHERE id >= 0",
    ):
        server.load("sql", sql=sql)


def bench_lookup_join(table, servers, options):
    """For each of many rows, the rows of a larger table by a key that the first row gives."""
    for server in servers:
        fill_links(server)
    settle(servers)
    for name, sql in JOINS.items():
        for server in servers:
            server.load("query", sql=sql)
        found = alternate(servers, options.repeats, lambda s: s.load("query", sql=sql))
        two(table, found, f"lookup join of {JOIN_ROWS:,} rows by {name}: rows/s",
            lambda r: JOIN_ROWS / r["seconds"], "{:,.0f}", (">= 1", lambda ratio: ratio >= 1))
        two(table, found, "  the same: server CPU, s", lambda r: r["server_cpu"], "{:.2f}",
            ("", lambda _: None))


HOSTILE = [
    f"SELECT {FULL_SCAN} v, payload, COUNT(*), MIN(id) FROM facts GROUP BY v, payload",
    f"SELECT {FULL_SCAN} id, payload FROM facts ORDER BY payload, id",
]
# Light: a small part of what the server could do, on few connections.
LIGHT_LOAD = {"connections": 8, "rate": 1000, "rows": POINT_ROWS}


def bench_hostile(table, servers, options):
    """Point reads of a light load, alone and beside a query that spills."""
    for server in servers:
        server.load("fill-points", rows=POINT_ROWS)
    fill_facts(servers, options)
    settle(servers)
    for server in servers:
        def light():
            return server.load("point", **LIGHT_LOAD, seconds=options.seconds)

        alone = median([quietly(light) for _ in range(options.repeats)], lambda r: r["p99_us"])
        for name, sql in zip(("GROUP BY", "ORDER BY"), HOSTILE):
            def beside():
                hostile = server.begin("query", sql=sql)
                try:
                    found = light()
                    if hostile.poll() is not None and server.name == "meseta":
                        print("  the hostile query ended too soon: more rows, or fewer seconds")
                    return found
                finally:
                    hostile.kill()
                    hostile.wait()

            runs = [quietly(beside, prepare=lambda: time.sleep(2)) for _ in range(options.repeats)]
            found = median(runs, lambda r: r["p99_us"])
            ratio = found / alone
            goal = ("<= 2", ratio <= 2) if server.name == "meseta" else ("", None)
            table.add(
                f"{server.name}: point SELECT beside a hostile {name}: p99, us", f"{found:,.0f}",
                f"(alone) {alone:,.0f}", f"{ratio:.2f}", *goal,
            )
