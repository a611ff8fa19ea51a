"""What a page is made of: a part for each group of benches. A part is of one run, on one machine and of one commit; two parts
need not be. They lie beside the page, as JSON."""

import dataclasses
import json
import os
import time
from dataclasses import dataclass, field

from . import machine
from .matrix import Line
from .size import Size

FILE = "results.json"
# Of the options those that say how much was measured.
EXTENT = ("rows", "repeats", "seconds")


@dataclass
class Part:
    """What came of the benches of one group; see `Table` for what is not said here."""

    # Where, when and of which commit: `facts_of`.
    facts: dict
    # The options that `EXTENT` names.
    extent: dict
    # Names of all benches that were run.
    benches: list
    lines: list = field(default_factory=list)
    sizes: list = field(default_factory=list)
    goals: list = field(default_factory=list)
    own: list = field(default_factory=list)
    profiled: list = field(default_factory=list)
    unsettled: list = field(default_factory=list)
    disturbed: list = field(default_factory=list)

    @staticmethod
    def of(table, options, facts, benches):
        measured = {name: getattr(table, name) for name in (
            "lines", "sizes", "goals", "own", "profiled", "unsettled", "disturbed")}
        return Part(facts, {name: getattr(options, name) for name in EXTENT}, benches, **measured)

    @staticmethod
    def read(found):
        lines = [Line(**line) for line in found["lines"]]
        sizes = [Size(**size) for size in found["sizes"]]
        return Part(**{**found, "lines": lines, "sizes": sizes})


def facts_of(directory):
    """What the servers, whose data lies in that directory, are measured on now."""
    return {
        "machine": machine.machine(), "disk": machine.disk(directory), "commit": machine.commit(),
        "versions": machine.versions(), "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def read(directory):
    """The parts of the page in a directory, by group; none of a page that is not there."""
    try:
        with open(os.path.join(directory, FILE)) as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    return {group: Part.read(part) for group, part in found.items()}


def keep(directory, parts):
    with open(os.path.join(directory, FILE), "w") as file:
        json.dump({group: dataclasses.asdict(part) for group, part in parts.items()}, file, indent=1)
        file.write("\n")
