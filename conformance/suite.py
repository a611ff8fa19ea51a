"""What the suites written by others have in common: a server of their own, lists, and the report.

A suite's folder has `allow-list.txt`, the tests that pass here, which may only grow (`run --update`
adds to it), and `reasons.txt`: for every other test, behind a tab, why it does not. A test on the list
that fails is a failure, and so is one off the list for which no reason is written down.

Not a client: conformance/README.md says what those are.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

START_SECONDS_MAX = 30
"""What the server may take to listen; it has no data to open."""

WHY_CHARS_MAX = 300
"""Characters of a failure that are printed."""


def cache():
    """A folder that stays, for what a suite installs."""
    at_home = pathlib.Path.home() / ".cache" / "meseta-conformance" / "suites"
    path = pathlib.Path(os.environ.get("MESETA_CACHE", at_home))
    path.mkdir(parents=True, exist_ok=True)
    return path


class Server:
    """A server with an empty database `test`, that ends with the block it is used in."""

    def __init__(self, *options, settings=()):
        self.options, self.settings = options, settings

    def __enter__(self):
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="meseta-suite-"))
        log = self.scratch / "server.log"
        command = [binary(), "--listen", "127.0.0.1:0", "--engine", "lsm", "--allow-full-scan"]
        command += ["--data-dir", str(self.scratch / "data"), *self.options]
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=output)
        until = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < until and self.process.poll() is None:
            address = re.search(rb"listening on ([0-9.]+):([0-9]+)", log.read_bytes())
            if address:
                self.host, self.port = address.group(1).decode(), int(address.group(2))
                self.run("CREATE DATABASE test", *self.settings)
                return self
            time.sleep(0.02)
        sys.exit("the server does not start: " + log.read_text()[-300:])

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def run(self, *statements):
        """Runs statements as root, by the command line client."""
        link = ["mariadb", "--no-defaults", "-h", self.host, "-P", str(self.port), "-u", "root"]
        subprocess.run(link, input=";\n".join(statements) + ";\n", text=True, check=True)


def binary():
    given = os.environ.get("MESETA_BINARY")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return given or str(ROOT / target / "debug" / "meseta")


def target_directory():
    """Where cargo builds what belongs to a suite."""
    given = os.environ.get("CARGO_TARGET_DIR")
    return pathlib.Path(given) / "conformance" if given else cache() / "target"


class Crate:
    """The sources of a crate, as its registry has them, and its tests."""

    def __init__(self, name, version, *build):
        self.name, self.version, self.build = name, version, build
        self.sources = cache() / f"{name}-{version}"

    def fetch(self):
        """Copies the sources out of cargo's cache, which fetches them by name and version."""
        if (self.sources / "Cargo.toml").is_file():
            return
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            (scratch / "src").mkdir()
            (scratch / "src" / "lib.rs").touch()
            (scratch / "Cargo.toml").write_text(
                '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
                f'[dependencies]\n{self.name} = "={self.version}"\n'
            )
            command = ["cargo", "metadata", "--format-version", "1"]
            known = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
            if known.returncode:
                sys.exit(f"cargo cannot fetch {self.name} {self.version}: {known.stderr[-300:]}")
            packages = json.loads(known.stdout)["packages"]
        found = next(one for one in packages if one["name"] == self.name)
        shutil.copytree(pathlib.Path(found["manifest_path"]).parent, self.sources)

    def cargo(self, *words, environment=None, **options):
        environment = {
            **os.environ, "CARGO_TARGET_DIR": str(target_directory()), "CARGO_PROFILE_DEV_DEBUG": "0",
            **(environment or {}),
        }
        command = ["cargo", *words]
        return subprocess.run(command, cwd=self.sources, env=environment, check=False, **options)

    def executables(self):
        """Builds the tests; the programs that run them."""
        words = ["test", "--locked", "--no-run", "--lib", "--tests", "--message-format=json"]
        built = self.cargo(*words, *self.build, capture_output=True, text=True)
        if built.returncode:
            sys.exit(f"the tests of {self.name} do not build: {built.stderr[-300:]}")
        messages = [json.loads(line) for line in built.stdout.splitlines() if line[:1] == "{"]
        programs = [one["executable"] for one in messages if one.get("executable")]
        return [program for program in programs if program]

    def run(self, url, *words):
        """Why each test failed, or `None`; of the programs and of the documentation."""
        environment = {"DATABASE_URL": url, "RUST_BACKTRACE": "0"}
        outcomes = {}
        for program in self.executables():
            ran = subprocess.run(
                [program, *words], cwd=self.sources, env={**os.environ, **environment},
                capture_output=True, text=True, errors="replace", check=False,
            )
            outcomes.update(rust_outcomes(ran.stdout + ran.stderr))
        doc = ["test", "--locked", "--doc", *self.build, "--", *words]
        ran = self.cargo(*doc, environment=environment, capture_output=True, text=True)
        for name, why in rust_outcomes(ran.stdout + ran.stderr).items():
            # Of `src/lib.rs - Pool (line 12)` the line says nothing a second version would keep.
            outcomes["doc " + re.sub(r" \(line (\d+)\)( - compile)?$", r" \1", name)] = why
        return outcomes


def rust_outcomes(output):
    """What libtest says of each test that is run: ignored ones and those only compiled are none."""
    outcomes = {}
    # What a test prints may stand between its name and its result.
    results = r"^test (.+?)(?: - should panic)? \.\.\. (?:.*?)(ok|FAILED)$"
    for name, result in re.findall(results, output, re.M):
        if not name.endswith("- compile"):
            outcomes[name] = None if result == "ok" else "failed"
    for name, text in re.findall(r"^---- (.+?) stdout ----\n(.*?)(?=^---- |^failures:|\Z)", output, re.M | re.S):
        if name in outcomes:
            lines = [line for line in text.splitlines() if line and not line.startswith(("thread", "note"))]
            outcomes[name] = " ".join(lines) or "failed"
    return outcomes


def lines_of(folder, name):
    path = folder / name
    lines = path.read_text().splitlines() if path.is_file() else []
    return [line for line in lines if line and not line.startswith("#")]


def report(folder, outcomes, update=False):
    """Prints what came out, as conformance/README.md wants it; the exit code."""
    allowed = lines_of(folder, "allow-list.txt")
    reasons = dict(line.split("\t", 1) for line in lines_of(folder, "reasons.txt"))
    failures = 0
    for name in allowed:
        if outcomes.get(name, "is not in the suite") is not None:
            failures += 1
            print(f"FAIL {label(name)}: {brief(outcomes.get(name, 'is not in the suite'))}")
    for name, why in outcomes.items():
        if why is None and name not in allowed and name not in reasons:
            print(f"new {name} passes and is not on the list")
        elif why is not None and name not in allowed:
            if name not in reasons:
                failures += 1
                print(f"FAIL {label(name)}: no reason is written down: {brief(why)}")
            else:
                print(f"not-on-list {name}: {reasons[name]}")
    if update:
        add(folder, allowed, [name for name, why in outcomes.items() if why is None and name not in reasons])
    passed = sum(outcomes.get(name, "") is None for name in allowed)
    if not failures:
        print(f"ok passed-{passed}-of-{len(outcomes)}")
    return 1 if failures else 0


def label(name):
    """A name without spaces, as the matrix wants it."""
    return re.sub(r"[\s:]+", "-", name)


def brief(why):
    return re.sub(r"\s+", " ", why)[:WHY_CHARS_MAX]


def add(folder, allowed, passed):
    """What was on the list stays on it."""
    path = folder / "allow-list.txt"
    head = [line for line in path.read_text().splitlines() if line.startswith("#")] if path.is_file() else []
    names = sorted({*allowed, *passed})
    path.write_text("\n".join([*head, *names]) + "\n")
