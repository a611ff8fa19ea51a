"""Latencies measured while the host leaves the processors to this machine.

A virtual machine whose processors the host takes away for a while has percentiles that say nothing about a
server. /proc/stat counts that time as `steal` (proc_stat(5)), as far as the host tells of it. A load generator
that waits awake on a processor of its own sees what nobody tells of.
"""

# Of the time of all processors: more, and the figures are the host's. It takes some milliseconds at a time, and
# whatever comes meanwhile waits: half a hundredth of the time is enough for a 99th percentile that is the host's.
STOLEN_MAX = 0.001
# The quietest of so many runs counts when none is quiet.
TRIES = 6


def times():
    """The time that the host took, and all time, of all processors since the start."""
    with open("/proc/stat") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return fields[7] if len(fields) == 8 else 0, sum(fields)


def quietly(run, prepare=lambda: None, stood=lambda found: 0):
    """What `run` gives the first time that the host took little meanwhile. `prepare` goes before each try, and
    is not measured. `stood` gives the share of its time that the load stood still, of what `run` gives."""
    tries = []
    for _ in range(TRIES):
        prepare()
        stolen_before, all_before = times()
        found = run()
        stolen, everything = times()
        share = max((stolen - stolen_before) / max(everything - all_before, 1), stood(found))
        if share <= STOLEN_MAX:
            return found
        tries.append((share, found))
        print(f"  the host took {share:.1%} of the processors: measured again", flush=True)
    share, found = min(tries, key=lambda one: one[0])
    print(f"  never quiet: measured while the host took {share:.1%} of the processors", flush=True)
    return found
