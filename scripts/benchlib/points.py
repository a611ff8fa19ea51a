"""Gets, multi-gets and scans, by the primary key and by indexes, beside InnoDB."""

import signal

from .servers import Constant, settle
from .table import alternate, cpu_us, median, per_second, two

POINT_ROWS = 500_000
# So few that reading them costs next to nothing.
HOT_ROWS = 1_000
SCAN_ROWS = 1_000_000
LARGE_SCAN_ROWS = 10_000_000


def fill_points(servers):
    for server in servers:
        server.load("fill-points", rows=POINT_ROWS)
    settle(servers)


def bench_point(table, servers, options):
    fill_points(servers)
    found = alternate(
        servers, options.repeats,
        lambda s: s.load("point", connections=32, rows=POINT_ROWS, seconds=options.seconds),
    )
    goal = ("<= 0.65, aim 0.5", lambda ratio: ratio <= 0.65)
    two(table, found, "prepared point SELECT, 32 connections: server CPU, us", cpu_us, "{:.1f}", goal)
    two(table, found, "  the same: statements/s", per_second, "{:,.0f}", ("", lambda _: None))
    two(table, found, "  the same: median latency, us", lambda r: r["p50_us"], "{:,.0f}", ("", lambda _: None))


def bench_overhead(table, servers, options):
    """Server CPU of a point read beside that of a server which has nothing to read."""
    meseta = next(server for server in servers if server.name == "meseta")
    fill_points([meseta])
    constant = Constant(meseta.directory)
    constant.start()
    try:
        for connections, rows in ((1, HOT_ROWS), (16, HOT_ROWS), (16, POINT_ROWS)):
            found = alternate(
                [meseta, constant], options.repeats,
                lambda s: s.load("point", connections=connections, rows=rows, seconds=options.seconds),
            )
            ours, theirs = median(found["meseta"], cpu_us), median(found["constant"], cpu_us)
            plural = "s" if connections != 1 else ""
            table.add(
                f"prepared point SELECT of {rows:,} rows, {connections} connection{plural}, beside a constant "
                "answer: server CPU, us",
                f"{ours:.1f}", f"(constant) {theirs:.1f}", f"{ours / theirs:.2f}", "<= 1.5",
                ours / theirs <= 1.5,
            )
    finally:
        constant.stop(signal.SIGKILL)


def bench_multi_get(table, servers, options):
    fill_points(servers)
    found = alternate(
        servers, options.repeats,
        lambda s: s.load("multi-get", connections=8, rows=POINT_ROWS, seconds=options.seconds),
    )
    goal = (">= 3", lambda ratio: ratio >= 3)
    two(table, found, "100 keys in one IN: rows/s", lambda r: r["rows"] / r["seconds"], "{:,.0f}", goal)
    two(
        table, found, "  the same: rows/s per server core",
        lambda r: r["rows"] / max(r["server_cpu"], 0.01), "{:,.0f}", ("", lambda _: None),
    )


def bench_scan(table, servers, options):
    sizes = [SCAN_ROWS] + ([LARGE_SCAN_ROWS] if options.full else [])
    for rows in sizes:
        chosen = servers if rows == SCAN_ROWS else [s for s in servers if s.name == "meseta"]
        for server in chosen:
            server.load("fill-scan", rows=rows)
        found = alternate(chosen, options.repeats, lambda s: s.load("scan"))
        rate = lambda r: r["rows"] / max(r["server_cpu"], 0.01)  # noqa: E731
        ours = median(found["meseta"], rate)
        theirs = median(found.get("innodb", []), rate)
        beside = (f"{theirs:,.0f}", f"{ours / theirs:.2f}") if "innodb" in found else ("", "")
        table.add(
            f"prefix scan of {rows:,} rows of 100 B: rows/s per server core",
            f"{ours:,.0f}", *beside, "1,500,000", ours >= 1.5e6,
        )
        growth = median(found["meseta"], lambda r: r["rss_most_kib"] - r["rss_before_kib"]) / 1024
        first = median(found["meseta"], lambda r: r["first_row_ms"])
        table.add("  the same: growth of memory, MiB", f"{growth:.0f}", "", "", "constant", None)
        table.add("  the same: first row after, ms", f"{first:.1f}", "", "", "at once", None)
        speed = lambda r: r["rows"] / r["seconds"]  # noqa: E731
        two(table, found, "  the same: rows/s to one client", speed, "{:,.0f}", ("", lambda _: None))


def bench_by_index(table, servers, options):
    for server in servers:
        server.load("fill-indexed", rows=POINT_ROWS)
    settle(servers)
    for work, what in (("by-unique", "a unique index"), ("by-index", "an index that does not cover")):
        found = alternate(
            servers, options.repeats,
            lambda s: s.load(work, connections=32, rows=POINT_ROWS, seconds=options.seconds),
        )
        goal = ("<= 0.7", lambda ratio: ratio <= 0.7)
        two(table, found, f"prepared point SELECT through {what}: server CPU, us", cpu_us, "{:.1f}", goal)
        two(table, found, "  the same: statements/s", per_second, "{:,.0f}", ("", lambda _: None))


def bench_covering(table, servers, options):
    """A scan of a covering index beside the scan of the same rows by primary key."""
    server = next(s for s in servers if s.name == "meseta")
    server.load("fill-scan", rows=SCAN_ROWS)
    server.load("sql", sql="CREATE INDEX covering ON scan (k) INCLUDE (payload) SYNC")
    found = {"scan": [], "scan-covering": []}
    for _ in range(options.repeats):
        for work, results in found.items():
            results.append(server.load(work))
    rate = lambda r: r["rows"] / max(r["server_cpu"], 0.01)  # noqa: E731
    primary, covering = median(found["scan"], rate), median(found["scan-covering"], rate)
    ratio = covering / primary
    table.add("covering index scan: rows/s per server core", f"{covering:,.0f}",
              f"(by primary key) {primary:,.0f}", f"{ratio:.2f}", "0.85", ratio >= 0.85)
