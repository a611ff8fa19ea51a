"""One load on each server in turn, several times: operations a second, server CPU, latencies; and, on
demand, where Meseta's time goes. What fails is kept and shown as what it is."""

import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass, field
from typing import Callable

from .others import watched
from .servers import seed_all, settle, turn

# The seconds that the load generator warms up before it measures.
WARM_UP_SECONDS = 3
# What is told of a load, if its runs tell it.
MEASURES = (
    "per_second", "cpu_us", "p50_us", "p99_us", "p999_us", "bytes", "conflicts", "server_cores", "load_cores",
)
# Of its processor: a load generator, which has one thread, that takes more is what the rate tells of.
LOAD_CORES_MAX = 0.95
NAMES = ("meseta", "innodb", "myrocks")


@dataclass
class Load:
    """One kind of work. `run(server)` gives what the load generator printed."""

    group: str
    name: str
    what: str
    run: Callable
    # Operations of one statement: rows, where rows are counted.
    unit: str = "operations"
    per_statement: int = 1
    # Before each run, outside of what is measured.
    before: Callable = lambda server: None
    # Whether it comes at a rate that is given, and not as fast as it can.
    is_held: bool = False
    # Whether there is a profile of it: of all loads of one bench one is enough.
    is_profiled: bool = True


@dataclass
class Line:
    """What came of a load: by server, the medians of its runs, or how it failed."""

    group: str
    name: str
    what: str
    unit: str
    is_held: bool = False
    is_profiled: bool = True
    values: dict = field(default_factory=dict)
    # The least and the most of the runs, as `values`.
    spread: dict = field(default_factory=dict)
    failed: dict = field(default_factory=dict)
    # By server the bytes per operation of stretches that follow one another, and of all with what was left.
    stretches: dict = field(default_factory=dict)

    @staticmethod
    def of(load):
        return Line(load.group, load.name, load.what, load.unit, load.is_held, load.is_profiled)

    def take(self, name, runs):
        """Keeps what came of a server's runs."""
        keys = [key for key in MEASURES if key in runs[0]]
        self.values[name] = {key: statistics.median(run[key] for run in runs) for key in keys}
        self.spread[name] = {
            key: (min(run[key] for run in runs), max(run[key] for run in runs)) for key in keys
        }

    def is_of_the_load(self, name):
        """Whether the load generator could not do more."""
        return not self.is_held and LOAD_CORES_MAX <= (self.value(name, "load_cores") or 0)

    def ratio_of_all(self, other):
        """Meseta's bytes of all stretches and what they left, to another's."""
        if "meseta" not in self.stretches or not self.stretches.get(other, [0])[-1]:
            return None
        return self.stretches["meseta"][-1] / self.stretches[other][-1]

    def value(self, server, measure):
        return self.values.get(server, {}).get(measure)

    def ratio(self, measure, other):
        ours, theirs = self.value("meseta", measure), self.value(other, measure)
        return ours / theirs if ours is not None and theirs else None


def measure(table, servers, options, load):
    """Runs a load, adds its lines to the table, and gives what came of it."""
    line = Line.of(load)
    found = {server.name: [] for server in servers}
    for repeat in range(options.repeats):
        seed_all(servers, load.name, repeat)
        for server in turn(servers, repeat):
            if server.name in line.failed:
                continue
            try:
                load.before(server)
                settle([other for other in servers if other.name not in line.failed])
                with watched(table, f"{load.name}, {server.name}, repeat {repeat + 1}", servers):
                    result = load.run(server)
                found[server.name].append(told(load, result))
            except (RuntimeError, OSError) as error:
                line.failed[server.name] = str(error)
                print(f"  {load.name} failed: {error}", flush=True)
    for name, runs in found.items():
        if runs and name not in line.failed:
            line.take(name, runs)
    table.lines.append(line)
    show(table, line)
    if "meseta" in line.values:
        profile_if_asked(meseta_of(servers), load, options)
    return line


def meseta_of(servers):
    return next(server for server in servers if server.name == "meseta")


def profile_if_asked(server, load, options):
    if options.perf and load.is_profiled:
        try:
            profile(server, load, options)
        except (RuntimeError, OSError) as error:
            print(f"  no profile of {load.name}: {error}", flush=True)


def told(load, result):
    """The measures of one run, per operation."""
    operations = result["statements"] * load.per_statement
    measures = {
        "per_second": operations / result["seconds"],
        "cpu_us": result["server_cpu"] * 1e6 / max(operations, 1),
        "server_cores": result["server_cpu"] / result["seconds"],
    }
    if "load_cpu" in result:
        measures["load_cores"] = result["load_cpu"] / result["seconds"]
    for key in MEASURES:
        if key in result:
            measures[key] = result[key]
    return measures


def show(table, line):
    add(table, line, f"{line.what}: {line.unit}/s", "per_second", "{:,.0f}")
    add(table, line, "  the same: server CPU, us", "cpu_us", "{:,.1f}")
    if any("p50_us" in values for values in line.values.values()):
        cells = [latencies(line.values.get(name, {})) for name in NAMES]
        table.add("  the same: p50 / p99 / p99.9, ms", cells[0], cells[1], "", "", None, (cells[2], ""))
    for name in NAMES:
        if line.is_of_the_load(name):
            print(f"  {name}: the rate is that of the load generator, which took "
                  f"{line.value(name, 'load_cores'):.0%} of a processor", flush=True)


def latencies(values):
    keys = ("p50_us", "p99_us", "p999_us")
    return " / ".join(f"{values[key] / 1000:.2f}" for key in keys) if keys[0] in values else ""


def add(table, line, what, measure_name, form, goal="", reached=None):
    def cell(name):
        value = line.value(name, measure_name)
        if name in line.failed:
            return "failed"
        return form.format(value) if value is not None else ""

    def ratio(name):
        value = line.ratio(measure_name, name)
        return f"{value:.2f}" if value is not None else ""

    table.add(what, cell("meseta"), cell("innodb"), ratio("innodb"), goal, reached,
              (cell("myrocks"), ratio("myrocks")))


def add_goal(table, what, value, limit, reached):
    """One of the numbers that were promised; `value` and `limit` as texts."""
    table.goals.append((what, value, limit, "yes" if reached else "NO"))
    table.add(what, value, "", "", limit, reached, ("", ""))


def add_unjudged(table, what, value, limit, why):
    """One of them that this run cannot tell."""
    table.goals.append((what, value, limit, f"not judged: {why}"))
    print(f"  {what}: {value}, not judged: {why}", flush=True)


def profile(server, load, options):
    """One more run on Meseta, watched by perf."""
    if not shutil.which("perf"):
        raise RuntimeError("perf is not installed")
    os.makedirs(options.perf, exist_ok=True)
    path = os.path.join(options.perf, f"{load.name}.data")
    load.before(server)
    watching = subprocess.Popen(
        ["perf", "record", "--quiet", "--event", "cpu-clock", "--freq", "499", "--pid",
         str(server.process.pid), "--output", path, "--", "sleep",
         str(options.seconds + WARM_UP_SECONDS)],
        stderr=subprocess.DEVNULL,
    )
    try:
        load.run(server)
    finally:
        watching.wait()
    if watching.returncode != 0:
        raise RuntimeError(f"perf ended with {watching.returncode}")
    print(f"  perf report --no-children -i {path}", flush=True)


def profile_commands(bench, names):
    """What a bench leaves profiles with, of which each is then shown."""
    shown = (f"perf report --no-children -i /tmp/perf/{name}.data" for name in names)
    return " && ".join([f"scripts/bench --only {bench} --perf /tmp/perf", *shown])
