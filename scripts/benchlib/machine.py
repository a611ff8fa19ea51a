"""What the numbers were measured on."""

import os
import platform
import re
import shutil
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where the servers have their data: a real disk, which /tmp need not be.
BASE = os.environ.get("MESETA_BENCH_DIR", "/var/tmp")


def command_output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


def machine():
    with open("/proc/cpuinfo") as file:
        models = re.findall(r"model name\s*:\s*(.*)", file.read())
    with open("/proc/meminfo") as file:
        kib = int(re.search(r"MemTotal:\s*(\d+)", file.read())[1])
    model = models[0] if models else platform.machine()
    return (
        f"{model}, {os.cpu_count()} cores, {kib / 2**20:.0f} GiB memory, "
        f"{platform.system()} {platform.release()}"
    )


def disk(directory):
    last = command_output("df", "--output=source,fstype", directory).splitlines()[-1]
    return " ".join(last.split())


def commit():
    return command_output("git", "-C", ROOT, "describe", "--always", "--dirty")


def mariadbd():
    """The path of MariaDB's server, or None."""
    return shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin")


def versions():
    """What else takes part, and which version of it."""
    return [line for line in (
        command_output(mariadbd() or "mariadbd", "--version"), command_output("sysbench", "--version"),
    ) if line]
