#!/usr/bin/env python3
"""What came out of the clients, as a matrix: on the terminal, or as docs/conformance.md.

  conformance/matrix.py DIRECTORY   prints the matrix of the logs in it, the failures and the skips;
                                    fails when a check failed
  conformance/matrix.py --docs      writes docs/conformance.md of conformance/results

Not what runs the clients (scripts/conformance) and not what a check means (conformance/README.md).
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
LINE = re.compile(r"(ok|FAIL|skip) ([^\s:]+):?\s*(.*)")

CHECKLIST = re.findall(r"^\| `([a-z0-9-]+)` \|", (HERE / "README.md").read_text().split("## The checklist")[1], re.M)
"""The names of the checklist, in the order of conformance/README.md."""

WIDTH = 100
"""Characters of a line of the matrix on the terminal."""

OTHERS_MAX = 60
"""Names of a client's own checks that the page lists; a suite of hundreds is told by its count."""


class Client:
    """The lines of one run: marks and reasons by check, the versions, and what else was said."""

    def __init__(self, path):
        self.name = path.stem.replace(".", "/", 1)
        self.marks, self.reasons, self.said, self.version = {}, [], [], ""
        for line in path.read_text(errors="replace").splitlines():
            found = LINE.match(line)
            if line.startswith("version "):
                self.version = line.removeprefix("version ")
            elif found:
                self.take(*found.groups())
            elif line.startswith(("new ", self.name + ": ")):
                self.said.append(line)

    def take(self, mark, check, reason):
        # A check told twice has passed when each has.
        worst = min(mark, self.marks.get(check, mark), key=["FAIL", "skip", "ok"].index)
        self.marks[check] = worst
        if mark != "ok":
            self.reasons.append((mark, check, reason))

    def count(self, mark):
        return sum(found == mark for found in self.marks.values())


def clients_of(directory, ending):
    return [Client(path) for path in sorted(pathlib.Path(directory).glob("*" + ending))]


def checks_of(clients):
    """Those of the checklist first, the others in order of appearance."""
    seen = dict.fromkeys(check for client in clients for check in client.marks)
    return [check for check in CHECKLIST if check in seen] + [check for check in seen if check not in CHECKLIST]


def print_matrix(clients):
    checks = checks_of(clients)
    columns = [max(len(client.name), 4) for client in clients]
    start = 0
    while start < len(clients):
        until, width = start, 26
        while until < len(clients) and (until == start or width + columns[until] + 1 <= WIDTH):
            width += columns[until] + 1
            until += 1
        part = clients[start:until]
        print(f"{'check':26}" + " ".join(f"{client.name:{size}}" for client, size in zip(part, columns[start:until])))
        for check in checks:
            if any(check in client.marks for client in part):
                cells = (f"{client.marks.get(check, '-'):{size}}" for client, size in zip(part, columns[start:until]))
                print(f"{check:26}" + " ".join(cells).rstrip())
        print()
        start = until
    for client in clients:
        for mark, check, reason in client.reasons:
            print(f"{client.name}: {mark} {check}: {reason}")
        for line in client.said:
            print(line if line.startswith(client.name) else f"{client.name}: {line}")
    passed, failed, skipped = (sum(client.count(mark) for client in clients) for mark in ("ok", "FAIL", "skip"))
    print(f"conformance: {passed} passed, {failed} failed, {skipped} skipped")
    return failed == 0


def escaped(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def page(clients):
    signs = {"ok": "✓", "FAIL": "**✗**", "skip": "–"}
    yield "# Clients and what they were checked for"
    yield ""
    yield "Made by `scripts/conformance --write`; do not edit. Rows are the checks of the checklist, which"
    yield "[conformance/README.md](../conformance/README.md) explains. ✓ passed, **✗** failed, – skipped for the"
    yield "reason told below; an empty cell is a check that this client does not have."
    yield ""
    listed = [client for client in clients if any(check in CHECKLIST for check in client.marks)]
    for start in range(0, len(listed), 8):
        part = listed[start : start + 8]
        yield "| check | " + " | ".join(client.name.replace("/", "<br>") for client in part) + " |"
        yield "|---" * (len(part) + 1) + "|"
        for check in CHECKLIST:
            cells = (signs.get(client.marks.get(check), " ") for client in part)
            yield f"| {check} | " + " | ".join(cells) + " |"
        yield ""
    yield "## Client by client"
    yield ""
    for client in clients:
        yield f"### {client.name}"
        yield ""
        counts = f"{client.count('ok')} passed, {client.count('FAIL')} failed, {client.count('skip')} skipped."
        yield f"{client.version}. {counts}" if client.version else counts
        others = [check for check, mark in client.marks.items() if mark == "ok" and check not in CHECKLIST]
        if 0 < len(others) <= OTHERS_MAX:
            yield "Beside the checklist: " + ", ".join(others) + "."
        yield ""
        for mark, check, reason in client.reasons:
            yield f"- {'failed' if mark == 'FAIL' else 'skipped'} `{check}`: {escaped(reason)}"
        if client.reasons:
            yield ""


def main():
    if sys.argv[1] == "--docs":
        lines = page(clients_of(HERE / "results", ".txt"))
        (HERE.parent / "docs" / "conformance.md").write_text("\n".join(lines).rstrip() + "\n")
        return 0
    return 0 if print_matrix(clients_of(sys.argv[1], ".log")) else 1


if __name__ == "__main__":
    sys.exit(main())
