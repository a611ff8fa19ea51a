"""Bulk load, size on disk by compression, and bytes written to disk per random update; sysbench's rows."""

import os
import shutil
import signal
import time
from dataclasses import dataclass, field

from . import matrix
from .matrix import Line, Load, add, add_goal, measure
from .servers import MariaDB, Meseta, MyRocks, PLUGINS, rocks_compression, seed_all, settle

LOADED_ROWS_MAX = 1_000_000
UPDATED_ROWS_MAX = 10_000_000
SIZED_ROWS_MAX = 2_000_000
UPDATE_CONNECTIONS = 64
# Whatever `--seconds` says. A stretch of 10 million rows fills four of Meseta's memtables (64 MiB, some 260 bytes
# for each update), after which a compaction follows: 16 in all; and 1.6 GiB of InnoDB's log, which holds 1 GiB.
# Of fewer rows there are fewer updates, and nothing is judged.
STRETCHES = 4
STRETCH_UPDATES = 1_050_000
# Before them trees have just been filled, and no page of the buffer pool is changed.
STRETCHES_JUDGED = 2
# No stretch begins later: of a server that is slow there are fewer.
STRETCHES_SECONDS_MAX = 200
ZSTD_TO_INNODB_MAX = 0.45
WRITTEN_TO_INNODB_MAX = 0.25


def bench_bulk_load(table, servers, options):
    """INSERTs of 1000 rows in key order by one connection, into a table with a secondary index."""
    rows = min(options.rows, LOADED_ROWS_MAX)

    def run(server):
        server.filled.pop("sbtest", None)
        result = server.load("fill-sbtest", rows=rows)
        return {**result, "statements": result["rows"]}

    measure(table, servers, options, Load(
        "size", "bulk-load", f"bulk load of {rows:,} rows, INSERTs of 1000, 1 connection", run, "rows",
    ))


def bench_update_bytes(table, servers, options):
    """Stretches of as many updates, one after the other without a pause, so that each begins with what the one
    before has left to be written. The last are judged: as much is left when they begin as when they end."""
    rows = min(options.rows, UPDATED_ROWS_MAX)
    count = max(1, STRETCH_UPDATES * rows // UPDATED_ROWS_MAX)
    load = Load(
        "size", "update-bytes",
        f"{STRETCHES} x {count:,} random updates of {rows:,} rows, {UPDATE_CONNECTIONS} connections, "
        f"the last {STRETCHES_JUDGED}", lambda server: run_stretch(server, rows, count), "updates",
    )
    line = Line.of(load)
    for server in servers:
        try:
            fill(server, rows)
            settle(servers)
            runs, everything = run_stretches(server, load)
        except (RuntimeError, OSError) as error:
            line.failed[server.name] = str(error)
            print(f"  {load.name} failed: {error}", flush=True)
            continue
        line.stretches[server.name] = [*(run["bytes"] for run in runs), everything]
        line.take(server.name, runs[-STRETCHES_JUDGED:])
    table.lines.append(line)
    matrix.show(table, line)
    show_stretches(table, line)
    matrix.profile_if_asked(servers, load, line, options)
    judge_bytes(table, line, rows)


def fill(server, rows):
    if server.filled.get("sbtest") != rows:
        server.load("fill-sbtest", rows=rows)
        server.filled["sbtest"] = rows
    server.write_out()


def run_stretches(server, load):
    """What came of each stretch, and the bytes per update of all, with what is written when they have ended.

    Of Meseta one memtable may be left out: neither a statement nor a restart writes just that. A backup does, but
    it reads the journal, and then Linux (6.18, folios of many pages) counts a whole folio as written for each few
    bytes that are added: the device writes no more.
    """
    begin, written = time.monotonic(), server.written()
    runs, updates = [], 0
    while len(runs) < STRETCHES and time.monotonic() < begin + STRETCHES_SECONDS_MAX:
        seed_all([server], load.name, len(runs))
        result = load.run(server)
        updates += result["statements"]
        runs.append(matrix.told(load, result))
    server.write_out()
    return runs, (server.written() - written) / max(updates, 1)


def run_stretch(server, rows, count):
    """Bytes and time on the processors are those of one span of time."""
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


def judge_bytes(table, line, rows):
    ratio = line.ratio("bytes", "innodb")
    if ratio is None:
        return
    what = f"bytes written per random update, stretches {STRETCHES - STRETCHES_JUDGED + 1} to {STRETCHES}, to InnoDB's"
    is_whole = rows == UPDATED_ROWS_MAX and all(
        len(line.stretches[name]) == STRETCHES + 1 for name in ("meseta", "innodb"))
    if is_whole:
        add_goal(table, what, f"{ratio:.2f}", f"<= {WRITTEN_TO_INNODB_MAX}", ratio <= WRITTEN_TO_INNODB_MAX)
    else:
        print(f"  {ratio:.2f} times InnoDB's bytes: not judged, too few updates", flush=True)


@dataclass
class Size:
    """What rows take with one compression: bytes, or why there is no number, by server."""

    compression: str
    rows: int
    bytes: dict = field(default_factory=dict)
    missing: dict = field(default_factory=dict)


def meseta_files(directory):
    """Its trees of rows, without journals."""
    return file_bytes(directory, lambda path: not path.endswith(".jnl"))


def innodb_files(directory):
    return file_bytes(directory, lambda path: path.endswith("bench/sbtest.ibd"))


def myrocks_files(directory):
    return file_bytes(directory, lambda path: path.endswith(".sst"))


def file_bytes(directory, counts):
    """Blocks that files have, so that holes do not count."""
    total = 0
    for folder, _, names in os.walk(os.path.join(directory, "data")):
        for name in names:
            path = os.path.join(folder, name)
            try:
                total += os.stat(path).st_blocks * 512 if counts(path) else 0
            except FileNotFoundError:
                pass
    return total


LZ4_PROVIDER = ["--plugin-load-add=provider_lz4", "--innodb-compression-algorithm=lz4"]
# By compression: what makes each server, what stands behind the table's definition, which files count.
SIZED = {
    "none": {
        "meseta": (Meseta, [], " WITH (COMPRESSION='NONE')"),
        "innodb": (MariaDB, [], ""),
        "myrocks": (MyRocks, [rocks_compression("kNoCompression")], ""),
    },
    "LZ4": {
        "meseta": (Meseta, [], ""),
        "innodb": (MariaDB, LZ4_PROVIDER, " PAGE_COMPRESSED=1"),
        "myrocks": (MyRocks, [rocks_compression("kLZ4Compression")], ""),
    },
    "ZSTD": {
        "meseta": (Meseta, [], " WITH (COMPRESSION='ZSTD')"),
        "innodb": None,
        "myrocks": (MyRocks, [rocks_compression("kZSTD")], ""),
    },
}
FILES = {"meseta": meseta_files, "innodb": innodb_files, "myrocks": myrocks_files}


def bench_size(table, servers, options):
    """Each with a server of its own, empty before."""
    rows = min(options.rows, SIZED_ROWS_MAX)
    base = os.path.join(os.path.dirname(servers[0].directory), "size")
    for compression, makers in SIZED.items():
        size = Size(compression, rows)
        for name in (server.name for server in servers):
            directory = os.path.join(base, f"{compression}-{name}")
            try:
                found = sized(name, makers[name], directory, rows)
            except RuntimeError as error:
                found = f"failed: {error}"
                print(f"  size, {compression}, {name}: {found}", flush=True)
            finally:
                shutil.rmtree(directory, ignore_errors=True)
            (size.missing if isinstance(found, str) else size.bytes)[name] = found
        table.sizes.append(size)
        show(table, size)
    add_goals(table)


def sized(name, maker, directory, rows):
    """Bytes of the files of so many rows, or why there are none."""
    if maker is None:
        return "it has none"
    kind, more, suffix = maker
    if LZ4_PROVIDER[0] in more and not os.path.exists(os.path.join(PLUGINS, "provider_lz4.so")):
        return "its plugin provider_lz4 is not installed"
    server = kind(directory, more) if more else kind(directory)
    server.start()
    try:
        if "COMPRESSION" in suffix and has_no_effect(server, suffix):
            return "no choice: the option is kept without effect"
        before = FILES[name](directory)
        server.load("fill-sbtest", rows=rows, suffix=suffix)
        server.write_out()
        server.load("query", sql="OPTIMIZE TABLE sbtest")
        server.write_out()
        # Files that a compaction has replaced go when the server comes back, if they have not gone before.
        server.stop()
        server.start()
        settle([server])
        return FILES[name](directory) - before
    finally:
        server.stop(signal.SIGKILL)


def has_no_effect(server, suffix):
    return "no effect" in server.ask(
        "CREATE DATABASE IF NOT EXISTS probe", f"CREATE TABLE probe.t (id INT PRIMARY KEY){suffix}")


def show(table, size):
    def cell(name):
        if name in size.bytes:
            return f"{size.bytes[name] / size.rows:.0f}"
        return "none" if name in size.missing else ""

    def ratio(name):
        if "meseta" in size.bytes and name in size.bytes:
            return f"{size.bytes['meseta'] / size.bytes[name]:.2f}"
        return ""

    table.add(f"size of {size.rows:,} sysbench rows, compression {size.compression}: bytes/row",
              cell("meseta"), cell("innodb"), ratio("innodb"), "", None, (cell("myrocks"), ratio("myrocks")))


def add_goals(table):
    """Meseta's smallest beside what InnoDB takes by default, and MyRocks at its smallest."""
    sizes = {size.compression: size for size in table.sizes}
    ours = {name: size.bytes["meseta"] for name, size in sizes.items() if "meseta" in size.bytes}
    if not ours:
        return
    smallest = min(ours, key=ours.get)
    for what, theirs, most in (
        ("InnoDB's, uncompressed", sizes["none"].bytes.get("innodb"), ZSTD_TO_INNODB_MAX),
        ("MyRocks' with ZSTD", sizes["ZSTD"].bytes.get("myrocks"), 1.0),
    ):
        if theirs:
            ratio = ours[smallest] / theirs
            add_goal(table, f"size of sysbench rows (meseta: {smallest}), to {what}", f"{ratio:.2f}",
                     f"<= {most}", ratio <= most)


BENCHES = {"bulk-load": bench_bulk_load, "update-bytes": bench_update_bytes, "size-on-disk": bench_size}
