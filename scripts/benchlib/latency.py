"""Point reads at half of the rate that is possible."""

from .matrix import Load, add_goal, measure
from .points import POINT_ROWS
from .quiet import quietly
from .servers import settle
from .table import alternate, median, per_second

CONNECTIONS = 32
P99_US_MAX = 1000


def bench_half_load(table, servers, options):
    """Each server gets half of what it can do itself, held to the microsecond."""
    rows = min(options.rows, POINT_ROWS)
    load = {"connections": CONNECTIONS, "rows": rows, "seconds": options.seconds}
    for server in servers:
        server.load("fill-points", rows=rows)
    settle(servers)
    most = alternate(servers, options.repeats, lambda server: server.load("point", **load))
    rates = {name: int(median(results, per_second) / 2) for name, results in most.items()}
    line = measure(table, servers, options, Load(
        "latency", "half-load", f"prepared point SELECT at half of the possible rate, {CONNECTIONS} connections",
        lambda server: quietly(lambda: server.load("point", **load, rate=rates[server.name], exact=1)), "statements",
    ))
    p99 = line.value("meseta", "p99_us")
    if p99 is not None:
        add_goal(table, "point SELECT at half load: p99, us", f"{p99:,.0f}", f"<= {P99_US_MAX:,}",
                 p99 <= P99_US_MAX)


BENCHES = {"half-load": bench_half_load}
