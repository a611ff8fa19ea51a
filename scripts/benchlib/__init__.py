"""The parts of scripts/bench, which says what it measures and how to call it.

    machine    what the numbers were measured on
    servers    how each server is built, started, watched and stopped
    table      the table that is printed, and medians
    points     gets, multi-gets, scans
    writes     INSERTs, the build of an index, the start after a kill
    facts      queries over many rows
    ranges     ranges of dead rows, spread keys
    beside     point reads beside compaction, purge, index build, backup
    matrix     one load on three servers, for all that follows
    sysbench   sysbench's oltp_* and select_* tests
    ycsb       YCSB A to F
    lindorm    rows of many short columns
    latency    reads at half the possible rate
    size       bulk load, size on disk
    written    bytes written per update
    report     the matrix as a page of Markdown
    plot       its bars, as SVG
"""
