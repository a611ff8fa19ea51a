"""What others took of the processors while something was measured: neither the servers, nor this program with the
load generators that it starts, nor the kernel's own threads, which write out what the servers wrote."""

import os
import resource
import time
from contextlib import contextmanager, suppress

# Of one processor: more, and the figures are those of a machine that is busy otherwise.
OTHERS_MAX = 0.10
TICKS = os.sysconf("SC_CLK_TCK")
# The parent of the kernel's threads, where they are visible.
KTHREADD, KTHREADD_NAME = 2, "kthreadd"


@contextmanager
def watched(table, what, servers):
    """Notes what runs meanwhile if others took more than they may. By ticks, so of moments nothing is told."""
    busy_before, known_before, begin = busy(), known(servers), time.monotonic()
    yield
    seconds, known_after = time.monotonic() - begin, known(servers)
    # Of who came meanwhile all is known; who has gone took next to nothing, or is counted with the children.
    took = sum(now - known_before.get(who, 0) for who, now in known_after.items())
    share = (busy() - busy_before - took) / max(seconds, 1 / TICKS)
    if OTHERS_MAX < share and knows_kernel():
        table.disturbed.append(f"{what}: {share:.0%} of a processor")
        print(f"  others took {share:.0%} of a processor: {what}", flush=True)


def knows_kernel():
    """Not in a container of its own: there what the kernel writes out would be told of as others'."""
    with suppress(OSError), open(f"/proc/{KTHREADD}/comm") as file:
        return file.read().strip() == KTHREADD_NAME
    return False


def busy():
    """Seconds that the processors ran processes: user, nice and system of proc_stat(5)."""
    with open("/proc/stat") as file:
        return sum(int(field) for field in file.readline().split()[1:4]) / TICKS


def known(servers):
    """Seconds by who took them: this program, what it started and waited for, servers, threads of the kernel."""
    found = {}
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        found["rusage", who] = usage.ru_utime + usage.ru_stime
    for server in servers:
        if server.is_running():
            found["server", server.process.pid] = server.cpu()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        # It may end meanwhile.
        with suppress(OSError), open(f"/proc/{pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
            if int(fields[1]) == KTHREADD:
                found["kernel", pid] = (int(fields[11]) + int(fields[12])) / TICKS
    return found
