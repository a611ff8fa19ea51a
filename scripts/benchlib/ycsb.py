"""YCSB's core workloads; benches/load/ycsb.rs has the statements and the distributions."""

from .matrix import Load, measure

CONNECTIONS = 32
ROWS_MAX = 1_000_000
# In the order that YCSB advises: those that add rows come last.
WORKLOADS = {
    "a": "half reads, half updates",
    "b": "95 % reads, 5 % updates",
    "c": "reads",
    "f": "half reads, half read-modify-writes",
    "d": "95 % reads of the latest, 5 % inserts",
    "e": "95 % scans of 1 to 100 rows, 5 % inserts",
}


def fill(server, rows):
    """As many rows, and what inserts have added since."""
    if "usertable" not in server.filled:
        server.load("fill-ycsb", rows=rows)
        server.filled["usertable"] = rows


def run(server, workload, seconds):
    result = server.load(f"ycsb-{workload}", connections=CONNECTIONS, rows=server.filled["usertable"],
                         seconds=seconds)
    server.filled["usertable"] = result["items"]
    return result


def bench_workload(workload):
    def bench(table, servers, options):
        rows = min(options.rows, ROWS_MAX)
        measure(table, servers, options, Load(
            "ycsb", f"ycsb-{workload}", f"YCSB {workload.upper()}, {CONNECTIONS} connections: {WORKLOADS[workload]}",
            lambda server: run(server, workload, options.seconds), before=lambda server: fill(server, rows),
        ))

    return bench


BENCHES = {f"ycsb-{workload}": bench_workload(workload) for workload in WORKLOADS}
