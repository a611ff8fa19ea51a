"""The matrix as a page of Markdown with bars, and its numbers as JSON."""

import dataclasses
import json
import os
import time

from . import machine, plot
from .matrix import NAMES, latencies, profile_command
from .table import aligned, without_third

GROUPS = {
    "sysbench": "sysbench",
    "ycsb": "YCSB",
    "lindorm": "Lindorm's profile",
    "latency": "Latency at half load",
    "size": "Load and size",
}
NOTES = {
    "sysbench": "Debian's sysbench, its own tests, one table with its secondary index, any row as likely as another. `oltp_delete` gets a "
                "new table for every run. "
                "Times are those of whole transactions, from sysbench's histogram.",
    "ycsb": "The statements of go-ycsb's MySQL binding, prepared: rows of ten fields with 100 bytes, keys in no order. A Zipfian "
            "distribution over all rows, in D over the newest; scans of 1 to 100 rows, all lengths alike.",
    "lindorm": "Rows of 20 columns with 20 bytes, any row as likely as another. A put is `UPSERT` in Meseta and `REPLACE` in "
               "MariaDB, of rows that are there.",
    "latency": "Each server gets half of what it can do. The time of a statement counts from when it was due.",
    "size": "Rows of sysbench's table with its index. Bytes are `write_bytes` of `/proc/PID/io`, until all pages, memtables and "
            "compactions that the updates lead to are written; of Meseta at most one memtable (64 MiB) is left out.",
}
PLOTS = {
    "throughput": ("per_second", "per second, more is better"),
    "cpu": ("cpu_us", "microseconds of server CPU per operation, less is better"),
    "p99": ("p99_us", "microseconds, 99 of 100 are faster"),
}


def write(directory, table, options, facts):
    os.makedirs(directory, exist_ok=True)
    parts = [head(options, facts), goals(table), behind(table)]
    for group in GROUPS:
        lines = [line for line in table.lines if line.group == group]
        if lines or (group == "size" and table.sizes):
            parts.append(section(directory, group, lines, table.sizes))
    parts.append(others(table))
    with open(os.path.join(directory, "README.md"), "w") as file:
        file.write("\n\n".join(part for part in parts if part) + "\n")
    with open(os.path.join(directory, "results.json"), "w") as file:
        json.dump({
            "facts": facts,
            "lines": [dataclasses.asdict(line) for line in table.lines],
            "sizes": [dataclasses.asdict(size) for size in table.sizes],
            "goals": table.goals,
        }, file, indent=1)
        file.write("\n")


def facts(directory):
    return {
        "machine": machine.machine(), "disk": machine.disk(directory), "commit": machine.commit(),
        "versions": machine.versions(), "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def head(options, facts):
    lines = [
        "# Benchmarks",
        "",
        "Written by `scripts/bench --report`; do not edit. Meseta beside MariaDB with InnoDB and with MyRocks, all three in one run, "
        "on one disk, each commit synced before it is answered.",
        "",
        f"- machine: {facts['machine']}; server and load share it",
        f"- disk: {facts['disk']}",
        f"- commit: {facts['commit']}, {facts['day']}",
        *(f"- {version}" for version in facts["versions"]),
        f"- medians of {options.repeats} runs of {options.seconds} s, which alternate between the servers; each "
        "begins when all servers are quiet",
        "- Meseta: as it comes, with a cache of 4 GiB. InnoDB: buffer pool 4 GiB, log 1 GiB, "
        "`innodb_flush_log_at_trx_commit=1`. MyRocks: block cache 4 GiB, Bloom filters, LZ4, READ COMMITTED, "
        "`rocksdb_flush_log_at_trx_commit=1`. No binary log.",
        f"- at most {options.rows:,} rows in a table",
    ]
    return "\n".join(lines)


def goals(table):
    if not table.goals:
        return ""
    rows = [("what", "measured", "goal", "reached"), *table.goals]
    return "## Goals\n\n" + "\n".join(aligned(rows))


def behind(table):
    """What failed or met another, and where another server does more or takes less."""
    found = []
    for line in table.lines:
        found.extend(f"- {line.what}: {name} failed: {why}" for name, why in line.failed.items())
        found.extend(f"- {line.what}: {values['conflicts']:,.0f} statements of {name} ended with a conflict"
                     for name, values in line.values.items() if values.get("conflicts"))
        # At half load each server is given a rate of its own.
        is_given = line.group == "latency"
        slower = [] if is_given else ratios(line, "per_second", lambda ratio: ratio < 1)
        costlier = ratios(line, "cpu_us", lambda ratio: 1 < ratio)
        more = ratios(line, "bytes", lambda ratio: 1 < ratio)
        told = [f"{what} {', '.join(others)}" for what, others in (
            (f"{line.unit}/s", slower), ("server CPU", costlier), ("bytes written", more),
        ) if others]
        if told:
            found.append(f"- {line.what}: {'; '.join(told)}")
    if not found:
        return ""
    return "\n".join(["## Where Meseta is behind", "", *found])


def ratios(line, measure, is_behind):
    found = ((other, line.ratio(measure, other)) for other in NAMES[1:])
    return [f"{ratio:.2f} times {other}" for other, ratio in found if ratio is not None and is_behind(ratio)]


def section(directory, group, lines, sizes):
    parts = [f"## {GROUPS[group]}", NOTES[group]]
    if lines:
        parts.append("\n".join(aligned(rows(lines))))
    for kind, (measure, unit) in PLOTS.items():
        if group == "latency" and measure == "per_second":
            continue
        groups = [(line.name, {name: line.value(name, measure) for name in NAMES
                               if line.value(name, measure) is not None}) for line in lines]
        parts.append(plotted(directory, f"{group}-{kind}", f"{GROUPS[group]}: {kind}", unit, groups))
    if group == "size":
        parts.append(size_table(sizes))
        groups = [(size.compression, {name: size.bytes[name] / size.rows for name in NAMES if name in size.bytes})
                  for size in sizes]
        parts.append(plotted(directory, "size-bytes", "Size on disk", "bytes per row, less is better", groups))
        written = [(line.name, {name: line.value(name, "bytes") for name in NAMES
                                if line.value(name, "bytes") is not None}) for line in lines]
        parts.append(plotted(directory, "size-written", "Written to disk",
                             "bytes per update, less is better", written))
    if lines:
        commands = [profile_command(line.name) for line in lines]
        parts.append("What Meseta's time goes to:\n\n```sh\n" + "\n".join(commands) + "\n```")
    return "\n\n".join(part for part in parts if part)


def rows(lines):
    has_bytes = any(line.value("meseta", "bytes") is not None for line in lines)
    heading = ["what", "server", "per second", "meseta's to it", "server CPU, us", "p50 / p99 / p99.9, ms"]
    yield heading + ["bytes written"] * has_bytes
    for line in lines:
        what = f"{line.what} ({line.unit})"
        for name in NAMES:
            if name in line.failed:
                yield [what, name, "failed"] + [""] * (3 + has_bytes)
            elif name in line.values:
                values = line.values[name]
                ratio = line.ratio("per_second", name) if name != "meseta" else None
                written = [f"{values['bytes']:,.0f}" if "bytes" in values else ""]
                yield [
                    what, name, f"{values['per_second']:,.0f}", f"{ratio:.2f}" if ratio else "",
                    f"{values['cpu_us']:,.1f}", latencies(values),
                ] + written * has_bytes
            what = ""


def size_table(sizes):
    if not sizes:
        return ""

    def cell(size, name):
        if name in size.bytes:
            return f"{size.bytes[name] / size.rows:.0f}"
        return size.missing.get(name, "")

    heading = ("compression", *(f"{name}, bytes per row" for name in NAMES))
    body = [(size.compression, *(cell(size, name) for name in NAMES)) for size in sizes]
    return (
        f"Size on disk of {sizes[0].rows:,} rows after `OPTIMIZE TABLE` and a restart, without logs. MyRocks keeps a `CHAR` of utf8mb4 at "
        "four bytes a character before it compresses. Meseta compresses blocks by LZ4 below the "
        "two upper levels, and values by zstd where a table asks for it; InnoDB's is page compression.\n\n"
        + "\n".join(aligned([heading, *body]))
    )


def plotted(directory, name, title, unit, groups):
    """Writes a plot of what has values; the Markdown that shows it."""
    groups = [(label, values) for label, values in groups if values]
    if not groups:
        return ""
    with open(os.path.join(directory, f"{name}.svg"), "w") as file:
        file.write(plot.bars(title, unit, groups))
    return f"![{title}]({name}.svg)"


def others(table):
    """The benches of one or two servers, if they were run too."""
    return "## Other numbers\n\n" + "\n".join(aligned(without_third(table.own))) if table.own else ""
