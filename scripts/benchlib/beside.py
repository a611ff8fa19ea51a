"""Point reads beside the server's own work: the part of scripts/bench that asks whether anybody notices
a compaction, the purge of what has ended, the build of an index, or a backup.

Reads come at a fixed and moderate rate, first alone and then while the work goes on all the time. What is
compared is the 99th percentile, waiting included. Only Meseta is asked: its work is its own.

The rate is high enough that the processors do not fall asleep between two reads: reads that wake one wait longer
alone than beside work that keeps it awake, and the ratio would hide what the work does to them.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import time

from .machine import command_output
from .matrix import Load, add_goal, add_unjudged, profile_if_asked
from .others import watched
from .quiet import quietly
from .servers import Meseta, seed_all, settle

# A small part of what the server could do, on few connections. Each has a read in two milliseconds: the timers of
# the load generator know no less than one.
LOAD = {"connections": 8, "rate": 4000, "rows": 500_000}
# Whatever `--seconds` says: some of it stops the reads for a moment once in a while.
SECONDS_MIN = 5
# Rows that the work is done on, at most: so that it lasts longer than the reads.
WORK_ROWS_MAX = 4_000_000
# What benches/load does before it measures.
WARM_UP_S = 3
# Less of the measured time than this, and the figure says little about the work.
SHARE_MIN = 0.8
# Room on a disk beside a copy of the data.
SPARE_BYTES = 1 << 30
RATIO_MAX = 2
# As many times the rows of other work: leaving a row out takes less than writing it.
ENDED_TIMES = 5
ENDED_TTL_S = 3600
# Rows that are written in a second at least, and what else comes before all of them end.
FILLED_PER_S = 150_000
ENDS_AFTER_S = 30
ROW = "id BIGINT PRIMARY KEY, k INT NOT NULL, c VARCHAR(120) NOT NULL"


class Work:
    """Something the server does for itself; `once` starts it and gives its process, which ends with it."""

    # Of its profile.
    key = ""
    # Whether there is nothing left that it could be done on.
    is_over = False

    def __init__(self, server, rows):
        self.server = server
        # How many rows it is done on.
        self.rows = rows

    def prepare(self):
        """Makes what the work is done on."""

    def wait(self):
        """Until the reads may begin."""

    def once(self):
        raise NotImplementedError

    def clear(self):
        """Takes away what `once` left."""


class Compaction(Work):
    name, key = "a compaction", "beside-compaction"

    def once(self):
        return self.server.begin("query", sql="OPTIMIZE TABLE bulk")


class Purge(Work):
    """A compaction that leaves out rows that have ended: once, then there are none. It is one of all tables: the
    one that the other work is done on would take most of the time, and has to go before.

    All rows end at one moment, just before it: the server begins by itself within ten seconds."""

    name, key = "the purge of rows that have ended", "beside-purge"

    def __init__(self, server, rows):
        super().__init__(server, ENDED_TIMES * rows)
        self.ends_at = 0

    def prepare(self):
        drop(self.server, "ended")
        sql(self.server, f"CREATE TABLE ended ({ROW}) WITH (TTL='{ENDED_TTL_S}')")
        self.ends_at = int(time.time() + self.rows / FILLED_PER_S + ENDS_AFTER_S)
        copy(self, "ended", f"SET debug_ttl_clock = {self.ends_at - ENDED_TTL_S}")
        self.is_over = False

    def wait(self):
        time.sleep(max(self.ends_at - WARM_UP_S - time.time(), 0))

    def once(self):
        self.is_over = True
        return self.server.begin("query", sql="OPTIMIZE TABLE ended")


class IndexBuild(Work):
    name, key = "an index build", "beside-index-build"

    def once(self):
        return self.server.begin("sql", sql="CREATE INDEX built ON bulk (k) SYNC")

    def clear(self):
        sql(self.server, "DROP INDEX built ON bulk")


class Backup(Work):
    """Backups one after the other, in one connection: one of links is over in 20 ms, and the start of a client
    would take more of the processors than that.

    They are removed before the reads and not meanwhile, as long as there is room: whoever gives back a gigabyte
    of memory keeps a processor for dozens of milliseconds, which are not the server's."""

    name = "a backup"
    LINKED_AT_ONCE = 50

    def __init__(self, server, rows, directory):
        super().__init__(server, rows)
        self.directory = directory
        is_linked = os.stat(directory).st_dev == os.stat(server.directory).st_dev
        kind = "links" if is_linked else "copies"
        self.name, self.key = f"a backup of {kind}", f"beside-backup-of-{kind}"
        self.count = self.LINKED_AT_ONCE if is_linked else 1
        # Of one backup.
        self.bytes = 0 if is_linked else used(server)
        self.made = 0

    def prepare(self):
        for name in os.listdir(self.directory):
            shutil.rmtree(os.path.join(self.directory, name))

    def once(self):
        if room(self.directory) < self.bytes + SPARE_BYTES:
            self.prepare()
        paths = [os.path.join(self.directory, f"backup-{self.made + idx}") for idx in range(self.count)]
        self.made += self.count
        *before, last = [f"BACKUP TO '{path}'" for path in paths]
        return self.server.begin("query", setup=";".join(before), sql=last)


def sql(server, text):
    server.load("sql", sql=text)


def drop(server, table):
    """For good, and not for a day."""
    server.load("repeat", sql="SELECT 1", setup=f"SET GLOBAL trash_retention = 0;DROP TABLE IF EXISTS {table}")


def copy(work, table, before=""):
    """Fills a table with copies of the rows that are read."""
    for first in range(0, work.rows, LOAD["rows"]):
        rows = f"SELECT id + {first}, k, c FROM points WHERE id >= 0 AND id < {work.rows - first}"
        statements = [before, f"INSERT INTO {table} {rows}"]
        work.server.load("repeat", sql="SELECT 1", setup=";".join(statements))


def end(process):
    """Waits for work that was begun."""
    if process.wait() != 0:
        raise RuntimeError(f"the work failed: {' '.join(process.args)}")


def read_alone(server, seconds):
    return server.load("point", **LOAD, seconds=seconds)["p99_us"]


def read_beside(server, work, seconds):
    """The percentile of reads beside work that begins anew whenever it has ended, and the part of the
    measured time that it took."""
    work.wait()
    reads = subprocess.Popen(
        server.command("point", {**LOAD, "seconds": seconds}), stdout=subprocess.PIPE, text=True)
    try:
        time.sleep(WARM_UP_S)
        begin, worked = time.monotonic(), 0
        until = begin + seconds
        while time.monotonic() < until and reads.poll() is None:
            started = time.monotonic()
            process = work.once()
            while process.poll() is None and time.monotonic() < until:
                time.sleep(0.005)
            worked += min(time.monotonic(), until) - started
            end(process)
            if work.is_over:
                break
            work.clear()
        text, _ = reads.communicate()
    finally:
        # It has ended, unless the work failed.
        reads.kill()
        reads.wait()
    if reads.returncode != 0:
        raise RuntimeError("the reads failed")
    return json.loads(text)["p99_us"], worked / seconds


def backups_to(directory):
    os.makedirs(directory, exist_ok=True)
    return f"--backup-dir={directory}"


def used(server):
    """Bytes of a server's data."""
    return int(command_output("du", "-sB1", server.directory).split()[0])


def room(directory):
    """Bytes that may be written there. In memory they are taken from all."""
    with open("/proc/meminfo") as file:
        available = int(re.search(r"MemAvailable:\s*(\d+)", file.read())[1]) * 1024
    return min(shutil.disk_usage(directory).free, available)


def prepare(work):
    work.prepare()
    settle([work.server])


def measure(table, server, work, options):
    alone, beside, shares = [], [], []
    seconds = max(options.seconds, SECONDS_MIN)
    for repeat in range(options.repeats):
        seed_all([server], work.name, repeat)
        prepare(work)
        with watched(table, f"reads alone, before {work.name}, repeat {repeat + 1}", [server]):
            alone.append(quietly(lambda: read_alone(server, seconds)))
        with watched(table, f"reads beside {work.name}, repeat {repeat + 1}", [server]):
            p99, share = quietly(lambda: read_beside(server, work, seconds), lambda: prepare(work))
        beside.append(p99)
        shares.append(share)
    judge(table, work, alone, beside, statistics.median(shares))
    load = Load(
        "beside", work.key, work.name, lambda server: read_beside(server, work, seconds), before=lambda _: prepare(work))
    table.profiled.append(work.key)
    profile_if_asked(server, load, options)


def judge(table, work, alone, beside, share):
    """The medians are held to the goal. The worst repeat is told with them: it may be the machine's, or a stop
    that each run is too short to meet."""
    ratio = statistics.median(beside) / statistics.median(alone)
    worst = max(found / idle for found, idle in zip(beside, alone))
    is_told = SHARE_MIN <= share
    table.add(f"point SELECT beside {work.name} ({share:.0%} of the time): p99, us", spread(beside),
              f"(alone) {spread(alone)}", f"{ratio:.2f}", f"<= {RATIO_MAX}", ratio <= RATIO_MAX if is_told else None)
    goal = (goal_of(work), f"{ratio:.2f}, worst repeat {worst:.2f}", f"<= {RATIO_MAX}")
    # Of work that went on for a part of the time alone nothing is said.
    if is_told:
        add_goal(table, *goal, ratio <= RATIO_MAX)
    else:
        add_unjudged(table, *goal, f"it took {share:.0%} of the measured time: more rows, or fewer seconds")


def goal_of(work):
    return f"point SELECT at {LOAD['rate']:,}/s beside {work.name}: p99, to that alone"


def spread(found):
    """The median, with the least and the most."""
    return f"{statistics.median(found):,.0f} ({min(found):,} - {max(found):,})"


def measure_copies(table, server, work, options):
    """Backups to another disk than that of the data."""
    rows, directory = work
    place = os.path.dirname(directory)
    if not os.path.isdir(place) or room(place) < used(server) + SPARE_BYTES:
        add_unjudged(table, "point SELECT beside a backup of copies: p99, to that alone", "", f"<= {RATIO_MAX}",
                     f"no room in {place}")
        return
    server.restart([backups_to(directory)])
    measure(table, server, Backup(server, rows, directory), options)


def bench_purge(table, servers, options):
    """The last of what follows, alone."""
    server = next(server for server in servers if server.name == "meseta")
    try:
        server.restart([])
        server.load("fill-points", rows=LOAD["rows"])
        measure(table, server, Purge(server, min(options.rows, WORK_ROWS_MAX)), options)
    finally:
        server.restart(Meseta.CACHE)


def bench_beside(table, servers, options):
    """Point reads beside each kind of work that the server does for itself."""
    server = next(server for server in servers if server.name == "meseta")
    rows = min(options.rows, WORK_ROWS_MAX)
    directory = os.path.join(server.directory, "backups")
    # Where copies go: to memory, so that the disk is the server's alone.
    elsewhere = f"/dev/shm/meseta-bench-{os.getpid()}"
    try:
        # As it comes: it is compared with itself alone.
        server.restart([backups_to(directory)])
        server.load("fill-points", rows=LOAD["rows"])
        sql(server, "DROP TABLE IF EXISTS bulk")
        sql(server, f"CREATE TABLE bulk ({ROW})")
        copy(Work(server, rows), "bulk")
        for work in (Compaction(server, rows), IndexBuild(server, rows), Backup(server, rows, directory)):
            measure(table, server, work, options)
        shutil.rmtree(directory)
        measure_copies(table, server, (rows, elsewhere), options)
        drop(server, "bulk")
        measure(table, server, Purge(server, rows), options)
    finally:
        for place in (directory, elsewhere):
            shutil.rmtree(place, ignore_errors=True)
        server.restart(Meseta.CACHE)
