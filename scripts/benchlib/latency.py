"""Point reads at half of the rate that is possible.

The load generator holds its rate to the microsecond, which takes a processor. It has one for itself, and the server
has the others: where both may run anywhere, a statement waits at times until a tick of the scheduler takes the
processor from a thread of the other's, and the percentile tells of that and not of the server. What is found
where both may run anywhere is printed beside it. With one processor there is nothing to part.

What the machine itself does to a percentile (threads of the kernel, the host) is told by a server that answers each
statement with the same bytes at once: it gets the load that Meseta has got, in the same turn.
"""

import os
import signal
from contextlib import contextmanager, suppress

from .matrix import MEASURES, Load, add_goal, latencies, measure
from .points import POINT_ROWS
from .quiet import quietly
from .servers import Constant, settle
from .table import median

CONNECTIONS = 32
# Before all: a row that is read for the first time comes from elsewhere, and takes memory that the host has yet
# to give. In so much time even the slowest has read most rows.
WARM_SECONDS = 20
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


def stood(result):
    """The share of its time that a load generator was without a processor of its own."""
    return result["stood_us"] / 1e6 / result["seconds"]


def bench_half_load(table, servers, options):
    """Each server gets half of what it can do itself, held to the microsecond."""
    rows = min(options.rows, POINT_ROWS)
    load = {"connections": CONNECTIONS, "rows": rows, "seconds": options.seconds}
    for server in servers:
        server.load("fill-points", rows=rows)
        server.load("point", **{**load, "seconds": WARM_SECONDS})
    settle(servers)
    constant = Constant(servers[0].directory)
    constant.start()
    try:
        judged = [(where, read_half(table, servers, options, (where, place, ending), load, constant))
                  for where, place, ending in ways()]
    finally:
        constant.stop(signal.SIGKILL)
    where, line = judged[0]
    p99 = line.value("meseta", "p99_us")
    if p99 is not None:
        add_goal(table, f"point SELECT at half load, {where}: p99, us", f"{p99:,.0f}", f"<= {P99_US_MAX:,}",
                 p99 <= P99_US_MAX)


def read_half(table, servers, options, way, load, constant):
    """What is possible, and then half of it."""
    where, place, ending = way
    at_once = []

    def read(server, **more):
        with place(server):
            return server.load("point", **load, **more)

    def read_quietly(server, rate):
        # Where others may have its processor, to be without it is no matter of the machine.
        return quietly(lambda: read(server, rate=rate, exact=1), stood=stood if place is apart else lambda _: 0)

    def read_held(server):
        rate = int(most.value(server.name, "per_second") / 2)
        found = read_quietly(server, rate)
        if server.name == "meseta":
            at_once.append(read_quietly(constant, rate))
        return found

    what = f"prepared point SELECT, {CONNECTIONS} connections, {where}"
    most = measure(table, servers, options, Load(
        "latency", f"possible{ending}", f"{what}: the possible rate", read, "statements", is_profiled=False))
    half = measure(table, [server for server in servers if server.name in most.values], options, Load(
        "latency", f"half-load{ending}", f"{what}: half of it", read_held, "statements",
        is_held=True, is_profiled=not ending))
    show_at_once(table, f"{what}: meseta's half, beside a constant answer", half, at_once)
    return half


def show_at_once(table, what, half, runs):
    """What the machine makes of a server that has nothing to do."""
    if runs and "meseta" in half.values:
        told = {key: median(runs, lambda run, key=key: run[key]) for key in MEASURES if key in runs[0]}
        table.add(f"{what}: p50 / p99 / p99.9, ms", latencies(half.values["meseta"]),
                  f"(constant) {latencies(told)}", "", "", None)


BENCHES = {"half-load": bench_half_load}
