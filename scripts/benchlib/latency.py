"""Point reads at half of the rate that is possible.

The load generator holds its rate to the microsecond, which takes a processor. It has one for itself, and the server
has the others: where both may run anywhere, a statement waits at times until a tick of the scheduler takes the
processor from a thread of the other's, and the percentile tells of that and not of the server.
"""

import os
from contextlib import contextmanager

from .matrix import Load, add_goal, measure
from .points import POINT_ROWS
from .quiet import quietly
from .servers import settle
from .table import alternate, median, per_second

CONNECTIONS = 32
P99_US_MAX = 1000


@contextmanager
def apart(server):
    """Meanwhile what this process starts has a processor for itself, and the server has the others."""
    processors = os.sched_getaffinity(0)
    own = {max(processors)}
    if processors == own:
        yield
        return
    keep_to(server, processors - own)
    os.sched_setaffinity(0, own)
    try:
        yield
    finally:
        os.sched_setaffinity(0, processors)
        keep_to(server, processors)


def keep_to(server, processors):
    """All threads of a server run there, and those that they start."""
    for thread in os.listdir(f"/proc/{server.process.pid}/task"):
        try:
            os.sched_setaffinity(int(thread), processors)
        except ProcessLookupError:
            # It has ended meanwhile.
            pass


def read_apart(server, **load):
    with apart(server):
        return server.load("point", **load)


def bench_half_load(table, servers, options):
    """Each server gets half of what it can do itself, held to the microsecond."""
    rows = min(options.rows, POINT_ROWS)
    load = {"connections": CONNECTIONS, "rows": rows, "seconds": options.seconds}
    for server in servers:
        server.load("fill-points", rows=rows)
    settle(servers)
    most = alternate(servers, options.repeats, lambda server: read_apart(server, **load))
    rates = {name: int(median(results, per_second) / 2) for name, results in most.items()}
    what = f"prepared point SELECT at half of the possible rate, {CONNECTIONS} connections, load apart"
    line = measure(table, servers, options, Load(
        "latency", "half-load", what,
        lambda server: quietly(lambda: read_apart(server, **load, rate=rates[server.name], exact=1)), "statements",
    ))
    p99 = line.value("meseta", "p99_us")
    if p99 is not None:
        add_goal(table, "point SELECT at half load: p99, us", f"{p99:,.0f}", f"<= {P99_US_MAX:,}",
                 p99 <= P99_US_MAX)


BENCHES = {"half-load": bench_half_load}
