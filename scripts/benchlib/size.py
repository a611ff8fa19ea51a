"""Bulk load, and size on disk by compression; sysbench's rows."""

import os
import shutil
import signal
from dataclasses import dataclass, field

from .matrix import Load, add_goal, measure
from .servers import MariaDB, Meseta, MyRocks, PLUGINS, rocks_compression, settle

LOADED_ROWS_MAX = 1_000_000
SIZED_ROWS_MAX = 2_000_000
ZSTD_TO_INNODB_MAX = 0.45


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


BENCHES = {"bulk-load": bench_bulk_load, "size-on-disk": bench_size}
