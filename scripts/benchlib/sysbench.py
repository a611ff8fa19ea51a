"""sysbench 1.0 as Debian ships it: its own tests, on one table."""

import re
import shutil
import subprocess

from .matrix import WARM_UP_SECONDS, Load, measure
from .servers import DATABASE, settle
from .table import alternate, cpu_us, per_second, two

THREADS = 32
ROWS_MAX = 1_000_000
# Of the table of `--sysbench`.
ONE_ROWS = 100_000
TESTS = [
    "oltp_point_select", "select_random_points", "select_random_ranges", "oltp_read_only",
    "oltp_update_index", "oltp_update_non_index", "oltp_insert", "oltp_delete",
]
# What leaves another table behind than it found: it gets a new one for every run.
SPENDING = {"oltp_delete"}
# What goes before those, since sysbench warms nothing up; before the others go they themselves.
READING = "oltp_point_select"
# The latency histogram: milliseconds, a bar, how often.
HISTOGRAM_LINE = re.compile(r"^\s*([\d.]+) \|.*?(\d+)$", re.MULTILINE)


def command(server, test, rows, *more):
    """Rows as likely as each other: sysbench's own choice reads a hundredth of them three times out of four."""
    return [
        "sysbench", test, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}",
        "--mysql-user=root", f"--mysql-db={DATABASE}", "--tables=1", f"--table-size={rows}",
        "--rand-type=uniform", *more,
    ]


def run(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "FATAL" in done.stdout + done.stderr:
        wrong = [line for line in (done.stdout + done.stderr).splitlines() if "FATAL" in line]
        raise RuntimeError(f"sysbench: {' '.join(wrong[:2]) or done.stderr.strip()[-300:]}")
    return done.stdout


def prepare(server, rows):
    engine = f"--mysql-storage-engine={getattr(server, 'storage_engine', 'innodb')}"
    server.ask(f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"DROP TABLE IF EXISTS {DATABASE}.sbtest1")
    run([*command(server, "oltp_read_only", rows, engine), "prepare"])
    server.filled["sbtest1"] = rows


def run_test(server, test, rows, seconds):
    threads = f"--threads={THREADS}"
    first = READING if test in SPENDING else test
    run([*command(server, first, rows, threads, f"--time={WARM_UP_SECONDS}"), "run"])
    before = server.cpu()
    text = run([*command(server, test, rows, threads, f"--time={seconds}", f"--rand-seed={server.seed}",
                         "--histogram=on"), "run"])
    counts = [(float(ms), int(count)) for ms, count in HISTOGRAM_LINE.findall(text)]
    return {
        "statements": int(re.search(r"transactions:\s+(\d+)", text)[1]),
        "seconds": float(re.search(r"total time:\s+([\d.]+)s", text)[1]),
        "server_cpu": server.cpu() - before,
        "p50_us": quantile(counts, 0.5), "p99_us": quantile(counts, 0.99), "p999_us": quantile(counts, 0.999),
    }


def quantile(counts, part):
    """Of a histogram in order, in microseconds."""
    left = part * sum(count for _, count in counts)
    for ms, count in counts:
        left -= count
        if left <= 0:
            return ms * 1000
    return 0


def bench_test(test):
    def bench(table, servers, options):
        if not shutil.which("sysbench"):
            print("sysbench is not installed: skipped")
            return
        rows = min(options.rows, ROWS_MAX)

        def before(server):
            if server.filled.get("sbtest1") != rows or test in SPENDING:
                prepare(server, rows)

        measure(table, servers, options, Load(
            "sysbench", test, f"sysbench {test}, {THREADS} threads",
            lambda server: run_test(server, test, rows, options.seconds), "transactions", before=before,
        ))
        if test in SPENDING:
            for server in servers:
                server.filled.pop("sbtest1", None)

    return bench


def bench_one(table, servers, options):
    """What `--sysbench` adds to the other benches: one test, on a table without a secondary index."""
    if not shutil.which("sysbench"):
        print("sysbench is not installed: skipped")
        return

    def words(server):
        more = ("--auto-inc=off", "--create_secondary=off", f"--threads={THREADS}")
        return command(server, READING, ONE_ROWS, *more)

    for server in servers:
        server.filled.pop("sbtest1", None)
        server.ask(f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"DROP TABLE IF EXISTS {DATABASE}.sbtest1")
        run([*words(server), "prepare"])

    def run_one(server):
        settle(servers)
        run([*words(server), f"--time={WARM_UP_SECONDS}", "run"])
        before = server.cpu()
        text = run([*words(server), f"--time={options.seconds}", f"--rand-seed={server.seed}", "run"])
        return {
            "statements": int(re.search(r"queries:\s+(\d+)", text)[1]),
            "seconds": float(re.search(r"total time:\s+([\d.]+)s", text)[1]),
            "server_cpu": server.cpu() - before,
        }

    found = alternate(servers, options.repeats, run_one)
    two(table, found, f"sysbench {READING}, {THREADS} threads: queries/s", per_second, "{:,.0f}",
        ("", lambda _: None))
    two(table, found, "  the same: server CPU, us", cpu_us, "{:.1f}", ("", lambda _: None))


BENCHES = {test: bench_test(test) for test in TESTS}
