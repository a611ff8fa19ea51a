"""Point reads at half of the rate that is possible.

The load generator holds its rate to the microsecond, which takes a processor. It has one for itself, and the server
has the others: where both may run anywhere, a statement waits at times until a tick of the scheduler takes the
processor from a thread of the other's, and the percentile tells of that and not of the server. What is found
where both may run anywhere is printed beside it. With one processor there is nothing to part.
"""

import os
from contextlib import contextmanager, suppress

from .matrix import Load, add_goal, measure
from .points import POINT_ROWS
from .quiet import quietly
from .servers import settle

CONNECTIONS = 32
P99_US_MAX = 1000
APART = "load on a processor of its own"
ANYWHERE = "load and server on any processor"
ONE = "load and server on the only processor"


@contextmanager
def apart(server):
    """Meanwhile what this process starts has a processor for itself, and the server has the others."""
    processors = os.sched_getaffinity(0)
    own = {max(processors)}
    try:
        keep_to(server, processors - own)
        os.sched_setaffinity(0, own)
        yield
    finally:
        os.sched_setaffinity(0, processors)
        # A server that has ended is told of by what it ended under.
        with suppress(OSError):
            keep_to(server, processors)


@contextmanager
def anywhere(_server):
    """As the system has it."""
    yield


def keep_to(server, processors):
    """All threads of a server run there. One that starts meanwhile is found by the next listing, unless its
    parent was kept there already: then it is too."""
    kept = set()
    while True:
        threads = set(os.listdir(f"/proc/{server.process.pid}/task")) - kept
        if not threads:
            return
        for thread in threads:
            # It may have ended meanwhile.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), processors)
        kept |= threads


def ways():
    """Where load and server run: what is told of it, what makes it so, and what the names end with. The first
    is judged."""
    if len(os.sched_getaffinity(0)) == 1:
        return [(ONE, anywhere, "")]
    return [(APART, apart, ""), (ANYWHERE, anywhere, "-anywhere")]


def bench_half_load(table, servers, options):
    """Each server gets half of what it can do itself, held to the microsecond."""
    rows = min(options.rows, POINT_ROWS)
    for server in servers:
        server.load("fill-points", rows=rows)
    settle(servers)
    load = {"connections": CONNECTIONS, "rows": rows, "seconds": options.seconds}
    judged = [(where, read_half(table, servers, options, (where, place, ending), load))
              for where, place, ending in ways()]
    where, line = judged[0]
    p99 = line.value("meseta", "p99_us")
    if p99 is not None:
        add_goal(table, f"point SELECT at half load, {where}: p99, us", f"{p99:,.0f}", f"<= {P99_US_MAX:,}",
                 p99 <= P99_US_MAX)


def read_half(table, servers, options, way, load):
    """What is possible, and then half of it."""
    where, place, ending = way

    def read(server, **more):
        with place(server):
            return server.load("point", **load, **more)

    def read_held(server):
        rate = int(most.value(server.name, "per_second") / 2)
        return quietly(lambda: read(server, rate=rate, exact=1))

    what = f"prepared point SELECT, {CONNECTIONS} connections, {where}"
    most = measure(table, servers, options, Load(
        "latency", f"possible{ending}", f"{what}: the possible rate", read, "statements", is_profiled=False))
    return measure(table, [server for server in servers if server.name in most.values], options, Load(
        "latency", f"half-load{ending}", f"{what}: half of it", read_held, "statements",
        is_held=True, is_profiled=not ending))


BENCHES = {"half-load": bench_half_load}
