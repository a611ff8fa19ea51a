"""The servers that are measured: how each is built, started, watched and stopped."""

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import zlib

from .machine import BASE, ROOT, mariadbd

DATABASE = "bench"
# Of each server.
CACHE_BYTES = 4 << 30
PLUGINS = "/usr/lib/mysql/plugin"
# The programs that `scripts/bench` was given, or has built: "load", "wire", "server".
PROGRAMS = {}
# Why a load began although not all was quiet, since `scripts/bench` last took it from here for the page.
UNSETTLED = []

# Quiet: less than this of a core, and less than this written, in so many intervals one after another: longer than it
# takes Meseta to see that nobody writes.
QUIET_SECONDS = 0.5
QUIET_INTERVALS = 5
QUIET_CPU = 0.05
QUIET_BYTES = 256 << 10
# Longer than any compaction of these tables should take.
QUIET_SECONDS_MAX = 180


class Server:
    """A running server: its process, its port, what it is called."""

    name = ""
    # Of its cache of blocks, rows or pages.
    cache_option = ""

    def __init__(self, directory):
        self.directory = directory
        self.process = None
        self.has_facts = False
        # What lies in it, by table: a bench that finds its rows need not fill them again.
        self.filled = {}
        self.port = 0
        # What its load draws keys and values by: `seed_all`.
        self.seed = 0

    def with_cache(self, count):
        """Its options, with other bytes for its cache."""
        name = f"{self.cache_option}="
        return [*(option for option in self.more if not option.startswith(name)), f"{name}{count}"]

    def address(self):
        return f"127.0.0.1:{self.port}"

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def stop(self, signal_number=signal.SIGTERM):
        if self.is_running():
            self.process.send_signal(signal_number)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def restart(self, options):
        """Ends it in order, and starts it with these options."""
        self.stop(signal.SIGTERM)
        self.more = list(options)
        self.start()

    def command(self, work, options):
        words = [f"{key}={value}" for key, value in options.items()]
        return [PROGRAMS["load"], work, f"address={self.address()}", f"pid={self.process.pid}",
                f"seed={self.seed}", *words]

    def begin(self, work, **options):
        """A run of the load generator that goes on beside others."""
        return subprocess.Popen(self.command(work, options), stdout=subprocess.DEVNULL)

    def load(self, work, **options):
        """One run of the load generator; its line of JSON as a dictionary."""
        command = self.command(work, options)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}, {work}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def ask(self, *statements):
        """What the `mariadb` client prints for some statements, without headings."""
        try:
            done = subprocess.run(
                ["mariadb", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "--batch",
                 "--skip-column-names", "--show-warnings", "--comments", "-e", ";".join(statements)],
                capture_output=True, text=True, check=False,
            )
        except FileNotFoundError:
            raise RuntimeError("the client mariadb is not installed") from None
        if done.returncode != 0:
            raise RuntimeError(f"{self.name}: {done.stderr.strip()}")
        return done.stdout.strip()

    def cpu(self):
        """Seconds that all its threads have run."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def written(self):
        """Bytes that it has sent to the disk, or left to the system to send."""
        with open(f"/proc/{self.process.pid}/io") as file:
            return int(re.search(r"^write_bytes: (\d+)", file.read(), re.MULTILINE)[1])

    def write_out(self):
        """Brings what only lies in memory and in the log to where it stays, as far as it can be told to."""
        settle([self])


def seed_all(servers, name, repeat):
    """One seed for all servers, another for each bench and repeat: what was written before is not written
    again, which would change nothing, and what was read is not just what is read."""
    for server in servers:
        server.seed = (zlib.crc32(name.encode()) + repeat) % 2**31


def turn(servers, repeat):
    """The order of one repeat: each is the first as often as the others, and the last."""
    first = repeat % len(servers)
    return servers[first:] + servers[:first]


def settle(servers):
    """Waits until what goes on after a load (flushes, compactions, purges) has ended."""
    deadline = time.monotonic() + QUIET_SECONDS_MAX
    quiet, loud = 0, []
    while time.monotonic() < deadline:
        before = [(server.cpu(), server.written()) for server in servers]
        time.sleep(QUIET_SECONDS)
        loud = [
            server.name for server, (cpu, written) in zip(servers, before)
            if QUIET_CPU * QUIET_SECONDS < server.cpu() - cpu or QUIET_BYTES < server.written() - written]
        quiet = 0 if loud else quiet + 1
        if quiet == QUIET_INTERVALS:
            return
    unsettled(f"{', '.join(loud or ['all'])} not quiet after {QUIET_SECONDS_MAX} s")


def unsettled(what):
    UNSETTLED.append(what)
    print(f"  {what}", flush=True)


def environment():
    """This process's, without Meseta's variables: an option that one of them sets would be measured unseen."""
    return {name: value for name, value in os.environ.items() if not name.startswith("MESETA_")}


class Meseta(Server):
    name = "meseta"
    put = "UPSERT"
    cache_option = "--cache-bytes"
    # As the others' are. Without, it takes what the machine's memory allows.
    CACHE = (f"{cache_option}={CACHE_BYTES}",)

    def __init__(self, directory, more=CACHE):
        super().__init__(directory)
        self.more = list(more)

    def start(self):
        log_path = os.path.join(self.directory, "server.log")
        os.makedirs(self.directory, exist_ok=True)
        begin = time.monotonic()
        with open(log_path, "w") as log:
            self.process = subprocess.Popen(
                [PROGRAMS["server"], "--listen", "127.0.0.1:0", "--engine", "lsm", "--durability=sync", "--data-dir",
                 os.path.join(self.directory, "data"), *self.more],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment(),
            )
        while True:
            with open(log_path) as log:
                text = log.read()
            found = re.search(r"listening on 127\.0\.0\.1:(\d+)\s", text)
            if found:
                self.port = int(found[1])
                return time.monotonic() - begin
            if self.process.poll() is not None:
                raise RuntimeError(f"meseta ended: {text}")
            time.sleep(0.01)


class Constant(Server):
    """Answers every EXECUTE with one row of prebuilt bytes: what the protocol costs by itself."""

    name = "constant"

    def start(self):
        self.process = subprocess.Popen([PROGRAMS["wire"], "constant"], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().split(":")[1])


class MariaDB(Server):
    """MariaDB with InnoDB."""

    name = "innodb"
    put = "REPLACE"
    storage_engine = "innodb"
    cache_option = "--innodb-buffer-pool-size"
    collation = "utf8mb4_nopad_bin"
    settings = [
        "--innodb-flush-log-at-trx-commit=1", f"--innodb-buffer-pool-size={CACHE_BYTES}",
        "--innodb-log-file-size=1G",
    ]

    def __init__(self, directory, more=()):
        super().__init__(directory)
        self.more = list(more)

    def start(self):
        data = os.path.join(self.directory, "data")
        if not os.path.isdir(data):
            os.makedirs(data)
            subprocess.run(
                ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db",
                 "--auth-root-authentication-method=normal"],
                check=True, capture_output=True,
            )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        user = ["--user=root"] if os.geteuid() == 0 else []
        with open(os.path.join(self.directory, "server.log"), "w") as log:
            self.process = subprocess.Popen(
                [mariadbd(), "--no-defaults", *user, f"--datadir={data}", f"--port={self.port}",
                 "--bind-address=127.0.0.1", f"--socket={self.directory}/socket", *self.settings,
                 *self.more, "--max-connections=300", "--skip-log-bin",
                 "--skip-name-resolve", "--performance-schema=OFF", "--max-allowed-packet=64M",
                 "--character-set-server=utf8mb4", f"--collation-server={self.collation}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            )
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return 0
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        with open(os.path.join(self.directory, "server.log")) as log:
            raise RuntimeError(f"MariaDB does not listen: {log.read()[-2000:]}")

    def write_out(self):
        """Writes all changed pages, and lets go on as before."""
        names = ("innodb_max_dirty_pages_pct", "innodb_io_capacity", "innodb_io_capacity_max")
        kept = self.ask(f"SELECT {', '.join(f'@@{name}' for name in names)}").split()
        try:
            # The limit of the capacity goes up before it, and comes down behind it.
            self.ask("SET GLOBAL innodb_io_capacity_max = 20000", "SET GLOBAL innodb_io_capacity = 20000",
                     "SET GLOBAL innodb_max_dirty_pages_pct = 0")
            deadline = time.monotonic() + QUIET_SECONDS_MAX
            while 0 < self.dirty_pages() and time.monotonic() < deadline:
                time.sleep(QUIET_SECONDS)
            dirty = self.dirty_pages()
            if dirty:
                unsettled(f"{dirty:,} pages of {self.name} not written after {QUIET_SECONDS_MAX} s")
            settle([self])
        finally:
            self.ask(*(f"SET GLOBAL {name} = {value}" for name, value in zip(names, kept)))

    def dirty_pages(self):
        return int(self.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'").split()[1])


# What MyRocks' manual and its makers advise: filters, few bytes in upper levels.
ROCKS_TREE = "block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=1};" \
    "level_compaction_dynamic_level_bytes=true"


def rocks_compression(kind):
    return f"--rocksdb-default-cf-options=compression={kind};bottommost_compression={kind};{ROCKS_TREE}"


class MyRocks(MariaDB):
    """MariaDB with MyRocks. Tables are its by default; LZ4, as Meseta has, unless `more` says other."""

    name = "myrocks"
    storage_engine = "rocksdb"
    cache_option = "--rocksdb-block-cache-size"
    # It keeps keys of other collations in two forms.
    collation = "utf8mb4_bin"
    settings = [
        "--plugin-load-add=ha_rocksdb", "--default-storage-engine=rocksdb",
        "--rocksdb-flush-log-at-trx-commit=1", f"--rocksdb-block-cache-size={CACHE_BYTES}",
        # It has no gap locks, and refuses what would need them.
        "--transaction-isolation=READ-COMMITTED", "--innodb-buffer-pool-size=64M",
    ]

    def __init__(self, directory, more=(rocks_compression("kLZ4Compression"),)):
        super().__init__(directory, more)

    @staticmethod
    def is_there():
        return mariadbd() and os.path.exists(os.path.join(PLUGINS, "ha_rocksdb.so"))

    def write_out(self):
        self.ask("SET GLOBAL rocksdb_force_flush_memtable_now = 1")
        settle([self])


def build():
    """The load generators, and the server, as cargo makes them."""
    subprocess.run(["cargo", "build", "--release", "--bin", "meseta"], cwd=ROOT, check=True)
    built = subprocess.run(
        ["cargo", "bench", "--bench", "load", "--bench", "wire", "--no-run", "--message-format=json"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )
    binaries = {}
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message.get("executable"):
            binaries[message["target"]["name"]] = message["executable"]
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    return {
        "load": binaries["load"], "wire": binaries["wire"],
        "server": os.path.join(target, "release", "meseta"),
    }


def find_programs():
    """Takes the programs that the environment names, or builds them."""
    named = {name: os.environ.get(f"MESETA_BENCH_{name.upper()}") for name in ("load", "wire", "server")}
    PROGRAMS.update(named if all(named.values()) else build())


def measure_build():
    with tempfile.TemporaryDirectory(dir=BASE) as target:
        begin = time.monotonic()
        environment = {**os.environ, "CARGO_TARGET_DIR": target}
        subprocess.run(
            ["cargo", "build", "--release", "--bin", "meseta", "--quiet"],
            cwd=ROOT, env=environment, check=True,
        )
        return time.monotonic() - begin
