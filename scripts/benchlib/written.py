"""Bytes written to disk per random update: where caches hold the whole table, beside InnoDB with a log of 1 GiB and
with the one that it comes with; and where they hold a part of it, as they do of most wide tables."""

import time
from dataclasses import dataclass, field

from . import matrix
from .matrix import Line, Load, add, add_goal, add_unjudged
from .others import watched
from .servers import CACHE_BYTES, seed_all, settle

UPDATED_ROWS_MAX = 10_000_000
UPDATE_CONNECTIONS = 64
# Whatever `--seconds` says. A stretch of 10 million rows fills four of Meseta's memtables (64 MiB, some 260 bytes
# for each update), after which a compaction follows: 16 in all; and 1.6 GiB of InnoDB's log, which holds 1 GiB.
# Of fewer rows there are fewer updates, and nothing is judged.
STRETCHES = 4
STRETCH_UPDATES = 1_050_000
# Before them trees have just been filled, and no page of the buffer pool is changed. Where the pool holds the table,
# InnoDB writes little in one stretch and much in the next, in which its log is full: the two are one such cycle, no
# more, so the ratio of all that was written stands beside theirs.
STRETCHES_JUDGED = 2
# No stretch begins later: of a server that is slow there are fewer.
STRETCHES_SECONDS_MAX = 200
WRITTEN_TO_INNODB_MAX = 0.25


@dataclass(frozen=True)
class Setting:
    """How the servers are set up while they update."""

    name: str
    what: str
    # What each may keep of the table in memory, its memtables and the pages that the system keeps aside.
    cache_bytes: int = CACHE_BYTES
    # Further options, by the servers that have some.
    options: dict = field(default_factory=dict)
    # The updates of a stretch, by the servers of which there are fewer than of the others.
    updates: dict = field(default_factory=dict)
    # Those whose figures would be the same as in another setting are left out.
    servers: tuple = ("meseta", "innodb", "myrocks")

    def options_of(self, server):
        """All of its options, or none where it has them anyway."""
        more = self.options.get(server.name, [])
        if self.cache_bytes == CACHE_BYTES:
            return [*server.more, *more] if more else []
        return [*server.with_cache(self.cache_bytes), *more]


WHOLE = Setting("update-bytes", "caches that hold them")
# With it a page is written out after fewer updates. Such a stretch fills it four times (1.6 KiB for each update).
SHORT_LOG = Setting(
    "update-bytes-log", "caches that hold them, InnoDB's log of 96 MiB, as it comes",
    options={"innodb": ["--innodb-log-file-size=96M"]}, updates={"innodb": 250_000}, servers=("meseta", "innodb"),
)
# The pool has 32,768 pages, fewer than the table, and is full of changed ones within a part of the first stretch: an
# update then reads a page and has another written out, which takes so long that fewer of them do.
PART = Setting(
    "update-bytes-part", "caches of 512 MiB, a part of them", cache_bytes=512 << 20, updates={"innodb": 150_000})


def bench(setting):
    """Stretches of as many updates, one after the other without a pause, so that each begins with what the one
    before has left to be written. The last are judged: as much is left when they begin as when they end."""

    def bench_bytes(table, servers, options):
        servers = [server for server in servers if server.name in setting.servers]
        rows = min(options.rows, UPDATED_ROWS_MAX)
        fewer = "".join(f" ({name}: {scaled(count, rows):,})" for name, count in setting.updates.items())
        load = Load(
            "written", setting.name,
            f"{STRETCHES} x {scaled(STRETCH_UPDATES, rows):,}{fewer} random updates of {rows:,} rows, {setting.what}, "
            f"{UPDATE_CONNECTIONS} connections, the last {STRETCHES_JUDGED}",
            lambda server: run_stretch(server, rows, setting), "updates",
        )
        line = Line.of(load)
        for server in servers:
            try:
                fill(server, rows)
                settle(servers)
                runs, everything = with_setting(server, setting, lambda: run_stretches(table, servers, server, load))
            except (RuntimeError, OSError) as error:
                line.failed[server.name] = str(error)
                print(f"  {load.name} failed: {error}", flush=True)
                continue
            line.stretches[server.name] = [*(run["bytes"] for run in runs), everything]
            line.take(server.name, runs[-STRETCHES_JUDGED:])
        table.lines.append(line)
        matrix.show(table, line)
        show_stretches(table, line)
        if "meseta" in line.values:
            matrix.profile_if_asked(matrix.meseta_of(servers), load, options)
        judge(table, line, setting, rows)

    return bench_bytes


def scaled(count, rows):
    return max(1, count * rows // UPDATED_ROWS_MAX)


def fill(server, rows):
    if server.filled.get("sbtest") != rows:
        server.load("fill-sbtest", rows=rows)
        server.filled["sbtest"] = rows
    server.write_out()


def with_setting(server, setting, run):
    """Runs something on a server that is set up so, and then as usual again."""
    usual, options = server.more, setting.options_of(server)
    if not options:
        return run()
    try:
        server.restart(options)
        settle([server])
        return run()
    finally:
        server.restart(usual)


def run_stretches(table, servers, server, load):
    """What came of each stretch, and the bytes per update of all, with what is written when they have ended.

    Of Meseta one memtable may be left out: neither a statement nor a restart writes just that. A backup does, but
    it reads the journal, and then Linux (6.18, folios of many pages) counts a whole folio as written for each few
    bytes that are added: the device writes no more.
    """
    begin, written = time.monotonic(), server.written()
    runs, updates = [], 0
    while len(runs) < STRETCHES and time.monotonic() < begin + STRETCHES_SECONDS_MAX:
        seed_all([server], load.name, len(runs))
        with watched(table, f"{load.name}, {server.name}, stretch {len(runs) + 1}", servers):
            result = load.run(server)
        updates += result["statements"]
        runs.append(matrix.told(load, result))
    server.write_out()
    return runs, (server.written() - written) / max(updates, 1)


def run_stretch(server, rows, setting):
    """Bytes and time on the processors are those of one span of time."""
    count = scaled(setting.updates.get(server.name, STRETCH_UPDATES), rows)
    written, cpu, begin = server.written(), server.cpu(), time.monotonic()
    result = server.load("update", connections=UPDATE_CONNECTIONS, rows=rows, count=count)
    return {
        **result, "server_cpu": server.cpu() - cpu, "seconds": time.monotonic() - begin,
        "bytes": (server.written() - written) / max(result["statements"], 1),
    }


def show_stretches(table, line):
    add(table, line, "  the same: bytes written to disk per update", "bytes", "{:,.0f}")
    for name, (*stretches, everything) in line.stretches.items():
        told = ", ".join(f"{stretch:,.0f}" for stretch in stretches)
        print(f"  {name}: bytes per update of each stretch {told}; of all, and all written out {everything:,.0f}",
              flush=True)
    told = all_to_innodb(line)
    if told:
        print(f"  {told}", flush=True)


def all_to_innodb(line):
    """What of the ratio of all stretches is told: it is not judged."""
    ratio = line.ratio_of_all("innodb")
    if ratio is None:
        return ""
    ours, theirs = (len(line.stretches[name]) - 1 for name in ("meseta", "innodb"))
    return (f"{line.name}, of all, and all written out: meseta's to innodb's {ratio:.2f} "
            f"(stretches: {ours} and {theirs})")


def judge(table, line, setting, rows):
    ratio = line.ratio("bytes", "innodb")
    if ratio is None:
        return
    what = (f"bytes written per random update of rows, {setting.what}, stretches {STRETCHES - STRETCHES_JUDGED + 1} to "
            f"{STRETCHES}, to InnoDB's")
    limit = f"<= {WRITTEN_TO_INNODB_MAX}"
    short = [name for name in ("meseta", "innodb") if len(line.stretches[name]) != STRETCHES + 1]
    if rows != UPDATED_ROWS_MAX:
        add_unjudged(table, what, f"{ratio:.2f}", limit, f"of {rows:,} rows there are too few updates")
    elif short:
        why = f"{' and '.join(short)} did not come to {STRETCHES} stretches in {STRETCHES_SECONDS_MAX} s"
        add_unjudged(table, what, f"{ratio:.2f}", limit, why)
    else:
        add_goal(table, what, f"{ratio:.2f}", limit, ratio <= WRITTEN_TO_INNODB_MAX)


BENCHES = {setting.name: bench(setting) for setting in (WHOLE, SHORT_LOG, PART)}
