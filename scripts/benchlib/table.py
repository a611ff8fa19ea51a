"""The table that is printed, and what makes one number of many runs."""

import statistics

from .servers import seed_all, turn

COLUMNS = ("what", "meseta", "innodb", "ratio", "myrocks", "ratio", "at least", "reached")
# Where the columns of the third server are, which not every bench has.
THIRD = (4, 5)


class Table:
    """What the benches of one group have measured."""

    def __init__(self):
        self.rows = []
        # The rows of benches of one or two servers, and what `matrix` has measured: for the report.
        self.own = []
        self.lines = []
        self.sizes = []
        self.goals = []
        # What has a profile and no line.
        self.profiled = []
        # Loads that began although a server was not quiet, each as a text.
        self.unsettled = []
        # Runs beside which others took much of a processor, each as a text.
        self.disturbed = []

    def add(self, what, meseta, innodb, ratio, goal, reached, third=None):
        """A row. `third`: what another server has, and the ratio to it; None from benches without one."""
        mark = {True: "yes", False: "NO", None: ""}[reached]
        row = (what, meseta, innodb, ratio, *(third or ("", "")), goal, mark)
        self.rows.append(row)
        if third is None:
            self.own.append(row)
        print(" | ".join(cell for cell in row if cell), flush=True)


def show(tables):
    """Prints all rows as one table."""
    rows = [row for table in tables for row in table.rows]
    has_third = any(row[at] for row in rows for at in THIRD)
    for line in aligned([COLUMNS, *rows] if has_third else without_third(rows)):
        print(line)


def without_third(rows):
    """A table of two servers, with its heading."""
    return [[cell for at, cell in enumerate(row) if at not in THIRD] for row in [COLUMNS, *rows]]


def aligned(rows):
    """The lines of a Markdown table; the first row is its heading."""
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for at, row in enumerate(rows):
        yield "| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |"
        if at == 0:
            yield "|" + "|".join("-" * (w + 2) for w in widths) + "|"


def alternate(servers, repeats, run):
    """Runs on each server in turn, several times: results by server name."""
    found = {server.name: [] for server in servers}
    for repeat in range(repeats):
        seed_all(servers, "alternate", repeat)
        for server in turn(servers, repeat):
            found[server.name].append(run(server))
    return found


def median(results, value):
    return statistics.median(value(result) for result in results) if results else float("nan")


def per_second(result):
    return result["statements"] / result["seconds"]


def cpu_us(result):
    return result["server_cpu"] * 1e6 / max(result["statements"], 1)


def two(table, found, what, value, form, goal):
    """A line of the table that compares the two servers. `goal(ratio)` says whether it is met."""
    ours = median(found["meseta"], value)
    text, holds = goal
    if "innodb" not in found:
        table.add(what, form.format(ours), "", "", text, None)
        return
    theirs = median(found["innodb"], value)
    ratio = ours / theirs if theirs else float("nan")
    table.add(what, form.format(ours), form.format(theirs), f"{ratio:.2f}", text, holds(ratio))
