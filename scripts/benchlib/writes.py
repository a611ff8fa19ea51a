"""Durable INSERTs, the build of an index, the start after a kill."""

import signal

from .machine import command_output
from .table import alternate, cpu_us, median, per_second, two

BUILD_ROWS = 5_000_000


def bench_insert(table, servers, options):
    for server in servers:
        server.load("fill-nothing")
    found = alternate(
        servers, options.repeats,
        lambda s: s.load("insert", connections=64, seconds=options.seconds),
    )
    two(table, found, "durable single-row INSERT, 64 connections: statements/s", per_second,
        "{:,.0f}", (">= 1.5", lambda ratio: ratio >= 1.5))
    two(table, found, "  the same: server CPU, us", cpu_us, "{:.1f}",
        ("<= 0.5", lambda ratio: ratio <= 0.5))


def bench_insert_many(table, servers, options):
    for server in servers:
        server.load("fill-nothing")
    found = alternate(
        servers, options.repeats,
        lambda s: s.load("insert-many", connections=8, seconds=options.seconds),
    )
    two(table, found, "durable INSERT of 100 rows, 8 connections: rows/s",
        lambda r: 100 * per_second(r), "{:,.0f}", (">= 3", lambda ratio: ratio >= 3))
    two(table, found, "  the same: server CPU per row, us", lambda r: cpu_us(r) / 100, "{:.2f}",
        ("", lambda _: None))


def bench_insert_indexed(table, servers, options):
    """Durable INSERTs into a table with none, one and three indexes, in turn."""
    goals = {0: None, 1: 1.6, 3: 2.5}
    found = {count: {server.name: [] for server in servers} for count in goals}
    for _ in range(options.repeats):
        for count, results in found.items():
            for server in servers:
                server.load("fill-indexed-nothing", indexes=count)
                result = server.load("insert-indexed", connections=64, seconds=options.seconds)
                results[server.name].append(result)
    none = median(found[0]["meseta"], per_second)
    for count, goal in goals.items():
        two(table, found[count], f"durable INSERT, 64 connections, {count} indexes: statements/s",
            per_second, "{:,.0f}", ("", lambda _: None))
        if goal:
            times = none / median(found[count]["meseta"], per_second)
            table.add("  the same: times the time without index", f"{times:.2f}", "", "",
                      f"<= {goal}", times <= goal)


def bench_index_build(table, servers, options):
    """The build of an index on many rows, alone and beside reads at half the possible rate."""
    server = next(s for s in servers if s.name == "meseta")
    server.load("fill-points", rows=BUILD_ROWS)
    built = "CREATE INDEX built ON points (k) SYNC"
    done = server.load("sql", sql=built)
    rate = BUILD_ROWS / done["seconds"]
    table.add(f"index build on {BUILD_ROWS:,} rows: rows/s", f"{rate:,.0f}", "", "", "300,000",
              rate >= 300_000)
    server.load("sql", sql="DROP INDEX built ON points")
    load = {"connections": 64, "rows": BUILD_ROWS}
    most = server.load("point", **load, seconds=options.seconds)
    load["rate"] = int(per_second(most) / 2)
    alone = server.load("point", **load, seconds=options.seconds)
    server.load("sql", sql="CREATE INDEX built ON points (k) ASYNC")
    beside = server.load("point", **load, seconds=options.seconds)
    ratio = beside["p99_us"] / alone["p99_us"]
    table.add(f"  beside {load['rate']:,} point SELECT/s: p99, us", f"{beside['p99_us']:,}",
              f"(without build) {alone['p99_us']:,}", f"{ratio:.2f}", "<= 2", ratio <= 2)


def bench_restart(table, servers, options):
    """Fills a directory to its size, kills the server in the middle of writing, starts it."""
    server = next(s for s in servers if s.name == "meseta")
    rows = options.gigabytes * 10_000_000
    server.load("fill-scan", rows=rows)
    server.load("insert-many", connections=8, seconds=5)
    server.stop(signal.SIGKILL)
    size = int(command_output("du", "-sb", server.directory).split()[0]) / 2**30
    seconds = server.start()
    table.add(f"start after kill -9 on {size:.1f} GiB, s", f"{seconds:.2f}", "", "", "< 3", seconds < 3)
