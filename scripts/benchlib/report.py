"""The matrix as a page of Markdown with bars. A run replaces the parts that it has measured."""

import glob
import os

from . import parts, plot, quiet
from .matrix import LOAD_CORES_MAX, NAMES, latencies, profile_commands
from .others import OTHERS_MAX
from .table import aligned, without_third
from .written import all_to_innodb

GROUPS = {
    "sysbench": "sysbench",
    "ycsb": "YCSB",
    "lindorm": "Lindorm's profile",
    "latency": "Latency at half load",
    "size": "Load and size",
    "written": "Written to disk",
    "beside": "Reads beside the server's own work",
    "numbers": "Other numbers",
}
QUIETLY = (
    f"A run counts when the host took at most {quiet.STOLEN_MAX:.1%} of the processors meanwhile (`steal` of `/proc/stat`), "
    "and the load generator, where it waits awake on a processor of its own, was without it no longer; "
    f"else it is made again, up to {quiet.TRIES} times, and the quietest of them counts."
)
NOTES = {
    "sysbench": "Debian's sysbench, its own tests, one table with its secondary index, any row as likely as another. `oltp_delete` gets a "
                "new table for every run. "
                "Times are those of whole transactions, from sysbench's histogram.",
    "ycsb": "The statements of go-ycsb's MySQL binding as it comes, prepared: a read or a scan names all ten fields and has "
            "``FORCE INDEX(`PRIMARY`)``, an update writes one field. Rows of ten fields with 100 bytes, keys in no order. A Zipfian "
            "distribution over all rows, in D over the newest; scans of 1 to 100 rows, all lengths alike.",
    "lindorm": "Rows of 20 columns with 20 bytes, any row as likely as another. A put is of rows that are there: `UPSERT` in "
               "Meseta, which writes the row without reading what was there, and `REPLACE` in MariaDB, which reads it and tells whether "
               "there was one. MariaDB has no statement that writes blindly.",
    "latency": "Each server gets half of what it can do itself, held to the microsecond: a lighter load for a slower server. The time "
               "of a statement counts from when it was due. To hold a rate so exactly takes the load generator a whole processor. It has "
               "one of its own, and the server has the others, since where both may run anywhere a statement waits at times until a tick "
               "of the scheduler takes the processor from a thread of the other's, and the percentile tells of that. That "
               "leaves a server one processor of two, and lowers the possible rate of those that use more. What is found without it, "
               "at half of what is possible then, stands below; the goal is judged by the first. On a "
               "machine with one processor there is nothing to part, and the lines say that. What the machine itself makes of "
               "a percentile is told by a server that answers each statement with the same bytes at once. " + QUIETLY,
    "size": "Rows of sysbench's table with its index.",
    "written": "Random updates of rows of sysbench's table with its index. Bytes are `write_bytes` of `/proc/PID/io`. The updates "
               "come in stretches without a pause between them, of as many whatever `--seconds` is, once and not `--repeats` times; "
               "rate, server CPU and bytes are those of the last stretches, of one and the same time. The first find trees that have "
               "just been filled and a buffer pool without changed pages; by the last, as much is left to be written when they begin "
               "as when they end. InnoDB changes a page in memory as often as there is time before its log is full, so it writes least "
               "where its buffer pool holds the table and its log is long, ten times what it comes with here: the pages are then written "
               "once for several updates. With the log of 96 MiB that it comes with they are written out much sooner. "
               "Where the pool holds a part, an update writes out the page that another left; it reads one, too, past the system's "
               "cache, from which the others are served here: of the rates of that line nothing follows.",
    "beside": "Point reads of Meseta at a moderate rate, alone and then while it does such work all the time; it is compared with "
              "itself. " + QUIETLY,
    "numbers": "Percentiles: " + QUIETLY[0].lower() + QUIETLY[1:],
}
PLOTS = {
    "throughput": ("per_second", "per second, more is better"),
    "cpu": ("cpu_us", "microseconds of server CPU per operation, less is better"),
    "p99": ("p99_us", "microseconds, 99 of 100 are faster"),
}


def write(directory, new):
    """Makes the page of a directory anew, with these parts in the place of those that it had of the same groups."""
    os.makedirs(directory, exist_ok=True)
    found = {**parts.read(directory), **new}
    found = {group: found[group] for group in GROUPS if group in found}
    for path in old_plots(directory):
        os.remove(path)
    texts = [head(found), goals(found), behind(found), limited(found), loud(found), disturbed(found)]
    texts += [section(directory, group, part) for group, part in found.items()]
    with open(os.path.join(directory, "README.md"), "w") as file:
        file.write("\n\n".join(text for text in texts if text) + "\n")
    parts.keep(directory, found)


def old_plots(directory):
    """Those of another run: this one may have fewer."""
    for group in GROUPS:
        yield from glob.glob(os.path.join(glob.escape(directory), f"{group}-*.svg"))


def head(found):
    measured = [("part", "commit", "day", "machine", "disk", "runs")]
    for group, part in found.items():
        measured.append((
            GROUPS[group], part.facts["commit"], part.facts["day"], part.facts["machine"], part.facts["disk"], runs(part)))
    versions = dict.fromkeys(version for part in found.values() for version in part.facts["versions"])
    lines = [
        "# Benchmarks",
        "",
        "Written by `scripts/bench --report`; do not edit. Meseta beside MariaDB with InnoDB and with MyRocks. Within a part all "
        "servers were measured in one run, on one disk, each commit synced before it is answered. Parts may be of other runs, and "
        "their figures are not compared with those of another part.",
        "",
        *aligned(measured),
        "",
        "- Server and load share the machine, and but for the latency at half load either may run on any processor.",
        *(f"- {version}" for version in versions),
        "- Figures are medians of the runs, whose order goes round, with the least and the most where they differ. Each begins when "
        "all servers are quiet.",
        "- Meseta: as it comes, with a cache of 4 GiB. InnoDB: buffer pool 4 GiB, log 1 GiB, "
        "`innodb_flush_log_at_trx_commit=1`. MyRocks: block cache 4 GiB, Bloom filters, LZ4, READ COMMITTED, "
        "`rocksdb_flush_log_at_trx_commit=1`. Both: no binary log, `performance_schema=OFF`.",
        f"- Runs beside which other processes took more than {OTHERS_MAX:.0%} of a processor are listed under "
        "\"Disturbed runs\"; without that heading there was none.",
        "- All rows fit into each server's cache, so reads do not wait for the disk, unless a bench says otherwise.",
    ]
    return "\n".join(lines)


def runs(part):
    count, seconds, rows = (part.extent[name] for name in ("repeats", "seconds", "rows"))
    return f"{count} of {seconds} s, at most {rows:,} rows in a table"


def goals(found):
    rows = [goal for part in found.values() for goal in part.goals]
    if not rows:
        return ""
    return "## Goals\n\n" + "\n".join(aligned([("what", "measured", "goal", "reached"), *rows]))


def behind(found):
    """What failed or met another, and where another server does more or takes less."""
    told = [text for part in found.values() for line in part.lines for text in behind_of(line)]
    if not told:
        return ""
    return "\n".join(["## Where Meseta is behind", "", *told])


def behind_of(line):
    yield from (f"- {line.what}: {name} failed: {why}" for name, why in line.failed.items())
    yield from (f"- {line.what}: {values['conflicts']:,.0f} statements of {name} ended with a conflict"
                for name, values in line.values.items() if values.get("conflicts"))
    # Of rates that were given nothing follows.
    slower = [] if line.is_held else ratios(line, "per_second", lambda ratio: ratio < 1)
    costlier = ratios(line, "cpu_us", lambda ratio: 1 < ratio)
    later = ratios(line, "p99_us", lambda ratio: 1 < ratio)
    more = ratios(line, "bytes", lambda ratio: 1 < ratio)
    told = [f"{what} {', '.join(others)}" for what, others in (
        (f"{line.unit}/s", slower), ("server CPU", costlier), ("p99", later), ("bytes written", more),
    ) if others]
    if told:
        yield f"- {line.what}: {'; '.join(told)}"


def limited(found):
    """Rates that tell what the load generator can do."""
    told = [
        f"- {line.what}: {name}, {line.value(name, 'load_cores'):.0%} of a processor"
        for part in found.values() for line in part.lines for name in NAMES if line.is_of_the_load(name)
    ]
    if not told:
        return ""
    return "\n".join([
        "## Where the load generator is the limit", "",
        f"It has one thread, which took at least {LOAD_CORES_MAX:.0%} of a processor: the rate may be its own, and the server "
        "may be able to do more.", "", *told])


def loud(found):
    told = [f"- {what}" for part in found.values() for what in part.unsettled]
    return "\n".join(["## What began although a server was not quiet", "", *told]) if told else ""


def disturbed(found):
    told = [f"- {what}" for part in found.values() for what in part.disturbed]
    if not told:
        return ""
    return "\n".join([
        "## Disturbed runs", "",
        "What other processes took of a processor meanwhile: neither the servers of the bench, nor the load, nor the kernel's threads. "
        "The figures are those of a machine that was not idle.", "", *told])


def ratios(line, measure, is_behind):
    found = ((other, line.ratio(measure, other)) for other in NAMES[1:])
    return [f"{ratio:.2f} times {other}" for other, ratio in found if ratio is not None and is_behind(ratio)]


def section(directory, group, part):
    texts = [f"## {GROUPS[group]}", NOTES[group]]
    if part.lines:
        texts.append("\n".join(aligned(rows(part.lines))))
        texts.append(stretches_table(part.lines))
    for kind, (measure, unit) in PLOTS.items():
        if group == "written" or group == "latency" and measure == "per_second":
            continue
        texts.append(plotted(directory, f"{group}-{kind}", f"{GROUPS[group]}: {kind}", unit, bars_of(part, measure)))
    if group == "size":
        texts.append(size_table(part.sizes))
        bars = [(size.compression, {name: size.bytes[name] / size.rows for name in NAMES if name in size.bytes})
                for size in part.sizes]
        texts.append(plotted(directory, "size-bytes", "Size on disk", "bytes per row, less is better", bars))
    if group == "written":
        texts.append(plotted(directory, "written-bytes", "Written to disk", "bytes per update, less is better",
                             bars_of(part, "bytes")))
    if part.own:
        texts.append("\n".join(aligned(without_third(part.own))))
    texts.append(profiles(part))
    return "\n\n".join(text for text in texts if text)


def bars_of(part, measure):
    return [(line.name, {name: line.value(name, measure) for name in NAMES if line.value(name, measure) is not None})
            for line in part.lines]


def profiles(part):
    commands = [profile_commands(line.name, [line.name]) for line in part.lines if line.is_profiled]
    if part.profiled:
        commands.append(profile_commands("beside", part.profiled))
    if not commands:
        return ""
    return "What Meseta's time goes to:\n\n```sh\n" + "\n".join(commands) + "\n```"


def rows(lines):
    """Columns that no line has anything for are left out."""
    body = [row for line in lines for row in line_rows(line)]
    heading = [
        "what", "server", "per second", "from - to", "meseta's to it", "server CPU, us", "p50 / p99 / p99.9, ms",
        "processors: server / load", "bytes written",
    ]
    used = [at for at in range(len(heading)) if any(row[at] for row in body)]
    return [[row[at] for at in used] for row in (heading, *body)]


def line_rows(line):
    what = f"{line.what} ({line.unit})"
    for name in NAMES:
        if name in line.failed:
            yield [what, name, "failed", "", "", "", "", "", ""]
        elif name in line.values:
            values = line.values[name]
            ratio = line.ratio("per_second", name) if name != "meseta" and not line.is_held else None
            yield [
                what, name, f"{values['per_second']:,.0f}", spread(line, name), f"{ratio:.2f}" if ratio else "",
                f"{values['cpu_us']:,.1f}", latencies(values), cores(values),
                f"{values['bytes']:,.0f}" if "bytes" in values else "",
            ]
        else:
            continue
        what = ""


def spread(line, name):
    """Of the rate; where it is given, of the percentile."""
    if line.is_held:
        least, most = line.spread[name]["p99_us"]
        return f"p99 {least / 1000:.2f} - {most / 1000:.2f}"
    least, most = line.spread[name]["per_second"]
    return f"{least:,.0f} - {most:,.0f}" if least < most else ""


def cores(values):
    return f"{values['server_cores']:.2f} / {values['load_cores']:.2f}" if "load_cores" in values else ""


def stretches_table(lines):
    """The bytes of each stretch of updates."""
    found = [(line.name, name, line.stretches[name]) for line in lines for name in NAMES if name in line.stretches]
    if not found:
        return ""
    count = max(len(told) for *_, told in found) - 1
    body = []
    for bench, name, (*each, everything) in found:
        cells = [f"{bytes:,.0f}" for bytes in each] + ["not begun"] * (count - len(each))
        body.append([bench, name, *cells, f"{everything:,.0f}"])
    heading = ["bytes written per update", "server", *(f"stretch {at + 1}" for at in range(count)), "all, written out"]
    note = (
        "The last column has all stretches and what they left: changed pages, memtables and compactions. Of Meseta at "
        "most one memtable (64 MiB) is left out. A server that is slow has fewer stretches. Where its pool holds the "
        "table, InnoDB writes little in one stretch and much in the next, in which its log is full: the two that are "
        "judged are one such cycle, so the ratio of that column is told, too.")
    told = "\n".join(f"- {told}" for told in map(all_to_innodb, lines) if told)
    return "\n\n".join(part for part in (note, "\n".join(aligned([heading, *body])), told) if part)


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
        f"Size on disk of {sizes[0].rows:,} rows after `OPTIMIZE TABLE` and a restart, without logs. The goal is held against InnoDB as it "
        "comes, uncompressed; its LZ4 is page compression. MyRocks keeps a `CHAR` of utf8mb4 at four bytes a character before it "
        "compresses. Meseta compresses blocks by LZ4 below the two upper levels, and where a table asks for it by `COMPRESSION='ZSTD'` "
        "each value too: by zstd, or, as these rows of digits, which zstd does little for, by a model of which digit "
        "follows which, coded by rANS ([docs/compression.md](../compression.md)). Ranges of a hundred rows take nearly twice as long by "
        "zstd, and nearly three times as long by the model; nothing else on this page is measured with it.\n\n"
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
