#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: page_test.py CLEW OUT_DIR PAGE_MAKE: `clew report --html`: what is in the file, without a browser. TAP. The pages remain in OUT_DIR."""
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import tap
from cli import perf_make as pm
from page import page_data, unpack

CLEW, OUT, PAGE_MAKE = map(os.path.abspath, sys.argv[1:4])
WORK = tempfile.mkdtemp()
ENV = {**os.environ, "LC_ALL": "C", "HOME": WORK, "XDG_CACHE_HOME": WORK, "PAGER": "cat"}
EMPTY_BYTES = 200_000


def clew(*args):
    return subprocess.run([CLEW, "report", *args], capture_output=True, text=True, env=ENV, check=False, stdin=subprocess.DEVNULL)


def page(recording, name, *options):
    path = os.path.join(OUT, name + ".html")
    return path, clew("-i", recording, "--html", path, "-q", *options)


def rows(recording, *options):
    """Of the report: {(function, file): [self, total]}, samples, period."""
    out = json.loads(clew("-i", recording, "--json", "--sort", "dso,sym", "--percent-limit", "0", "-g", "none", "--children", *options).stdout)
    if not out["tables"]:
        return {}, 0, 0
    event, found = out["tables"][0]["events"][0], {}
    for r in out["tables"][0]["rows"]:
        v = found.setdefault((r["sym"] or r["address"], r["dso"]), [0, 0])
        v[0] += r["values"][0]["self"]
        v[1] += r["values"][0]["total"]
    return found, event["kept_samples"], event["kept_period"]


def differ(got, want):
    return [(k, got.get(k), want.get(k)) for k in {**got, **want} if got.get(k) != want.get(k)]


def sums(recording):
    path, run = page(recording, "sampled")
    tap.check(run.returncode == 0 and not run.stdout, "a page is written", run)
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    got, nr, weight = unpack.sums(head, columns)
    want, want_nr, want_weight = rows(recording)
    tap.check((nr, weight) == (want_nr, want_weight), "samples and period are those of --json", (nr, weight, want_nr, want_weight))
    tap.check(len(want) > 40 and not differ(got, want), "self and total of each function are, too", differ(got, want))
    tap.check("dt_wide" in columns and len(columns["dt_wide"]) == 1, "a gap above 4.2 s", head["columns"])
    times = [int(head["start"]) + sum(columns["dt"][:k]) for k in (500, 1500)]
    got, nr, weight = unpack.sums(head, columns, keep=lambda i, t: times[0] <= t <= times[1])
    limits = ",".join("%d.%09d" % divmod(t, 10**9) for t in times)
    want, want_nr, want_weight = rows(recording, "--time", limits)
    tap.check(nr == 1001 and (nr, weight) == (want_nr, want_weight) and not differ(got, want), "the same in a range of time", [nr, want_nr, *differ(got, want)])
    for name, option, keep in (("thread", ("--tid", "200"), lambda t: t[1] == 200), ("name", ("--comm", "renamed"), None)):
        path, run = page(recording, "part", *option)
        part, part_columns = unpack.unpack(path)
        want, want_nr, want_weight = rows(recording, *option)
        got, nr, weight = unpack.sums(part, part_columns)
        tap.check(0 < nr == want_nr and weight == want_weight and not differ(got, want), "a filter of the command, by " + name, [nr, want_nr, *differ(got, want)])
        if keep:
            thread = columns["thread"]
            same = unpack.sums(head, columns, keep=lambda i, _: keep(head["threads"][thread[i]]))
            tap.check(same[0] == got, "and of the page, by " + name, differ(same[0], got))
    tap.check(["proc-100", "renamed"] == next(t for t in head["threads"] if t[1] == 100)[2:], "a thread has the names it had", head["threads"])
    kinds = [(r[1], r[4], r[5]) for r in head["records"]]
    tap.check({(0, 17, ""), (1, 0, "renamed"), (3, 0, ""), (4, 0, ""), (6, 0, "")} <= set(kinds), "lost records, new names, throttling and lost trace are in the list of events", kinds)
    tap.check(len([c for c in head["cgroups"] if c.startswith("/slice-")]) == 3, "control groups", head["cgroups"])


def bytes_of(recording, nothing):
    with open(page(recording, "sampled")[0], "rb") as a, open(page(recording, "again", "--single-threaded")[0], "rb") as b:
        tap.check(a.read() == b.read(), "the same recording makes the same bytes, by one thread and by several")
    path, run = page(nothing, "empty")
    tap.check(run.returncode == 0 and os.path.getsize(path) <= EMPTY_BYTES, "of no samples: at most %d bytes" % EMPTY_BYTES, (run, os.path.getsize(path)))
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    tap.check(head["samples"] == 0 and len(columns["dt"]) == 0, "and none is in it", head)
    with open(path, encoding="ascii") as f:
        text = f.read()
    tap.check("Apache License" in text and "d3-flame-graph 5.0.0" in text and text.count("(ISC)") >= 9, "the licences of what draws are in the page")
    tap.check(os.uname().nodename not in text or len(os.uname().nodename) < 4, "the machine's name is not")


def hostile(work):
    recording = page_data.hostile(work)
    path, run = page(recording, "hostile")
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    with open(path, encoding="ascii") as f:
        text = f.read()
    tap.check(run.returncode == 0 and "onerror" not in text and "<b>" not in text and text.count("</script>") == 3, "hostile names are not in the markup", run)
    names = {s[:40] for s in head["strings"]}
    tap.check(all(any(e[:30].decode("utf-8", "replace") in n for n in names) for e in page_data.EVIL[:4]), "and whole in the data", sorted(names))


def many():
    nr, recording = 100_000, os.path.join(WORK, "many.data")
    page_data.many(PAGE_MAKE, WORK, recording, nr, 8000)
    path, run = page(recording, "many")
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    got, kept, weight = unpack.sums(head, columns)
    want, want_nr, want_weight = rows(recording)
    tap.check((kept, weight) == (want_nr, want_weight) == (nr, nr * 10**6) and not differ(got, want), "100,000 samples of 3,000 stacks: the sums", [kept, want_nr, *differ(got, want)])
    tap.check(os.path.getsize(path) <= 8 * nr + EMPTY_BYTES, "at most 8 bytes a sample, besides the page itself", os.path.getsize(path))


def licenses():
    run = subprocess.run([CLEW, "version", "--json"], capture_output=True, text=True, check=False)
    tap.check(list(json.loads(run.stdout)) == ["version"], "version --json", run.stdout)
    run = subprocess.run([CLEW, "--version", "--licenses"], capture_output=True, text=True, check=False)
    names = [line for line in run.stdout.splitlines() if line.startswith("d3-")]
    tap.check(run.returncode == 0 and len(names) == 12 and "LGPL-2.1-or-later" in run.stdout and "Apache License" in run.stdout, "--version --licenses: those of 12 packages, and our own", names)


def intervals_of(recording):
    """[begin, end, kind] in ns from the first sample, and the thread."""
    head, c = unpack.unpack(page(recording, "switched")[0])
    unpack.check(head, c)
    ends, time = [], 0
    for gap in c["iv_gap"]:
        time += int(gap)
        ends.append(time)
    return [(e - int(n), e, k, head["threads"][t][1]) for e, n, k, t in zip(ends, c["iv_length"], c["iv_kind"], c["iv_lane"])]


def intervals():
    got = intervals_of(page_data.switched(WORK))
    running, runnable, sleeping = 0, 1, 2
    want = [(0, 1000, running), (1000, 2000, runnable), (2000, 4000, running), (4000, 8000, sleeping), (8000, 11000, running), (11000, 12000, sleeping)]
    tap.check(got == [(*w, 100) for w in want], "what a thread did between its switches, from the first sample to the last", got)
    got = [i for i in intervals_of(page_data.switched(WORK, (15000, 20000))) if i[3] == 100]
    tap.check(got[:-1] == [(*w, 100) for w in want[:-1]] and got[-1] == (11000, 19000, sleeping, 100), "what others do after the last sample moves no interval", got)


def pauses():
    head, _ = unpack.unpack(page(page_data.paused(WORK), "paused")[0])
    tap.check(head["pauses"] == [[0, 500, 0, -1, "throttled"], [2000, 6000, 1, -1, "throttled"], [9000, 10000, 0, -1, "throttled"]] and head["more_pauses"] == 0,
              "times without recording, from the first sample to the last", head["pauses"])


def losses():
    """Lost records: when, and as many as --json says."""
    recording = page_data.lossy(WORK)
    head, _ = unpack.unpack(page(recording, "lossy")[0])
    tap.check(head["losses"] == [[1000, 2000, 0, -1, 17], [0, 4000, 1, -1, 3], [8500, 9500, 0, -1, 5]] and head["more_losses"] == 0, "lost records are intervals, from the CPU's sample before", head["losses"])
    said = json.loads(clew("-i", recording, "--json").stdout)["summary"]
    tap.check(said["losses"] == {"intervals": 4, "records": 26, "ns": 6000} and said["lost"] == 26 == head["lost"], "their sums are in --json", said)


def spans(c, sort, more):
    """[begin, end, thread, what] of intervals of trace."""
    out, time = [], 0
    for gap, length, lane, what in zip(c[sort + "gap"], c[sort + "length"], c[sort + "lane"], c[sort + more]):
        time += int(gap)
        out.append((time - int(length), time, lane, what))
    return out


def trace_spans(head, c):
    """Calls and levels of one thread, again from its samples: what is on the stack of a sample lasts until the next one."""
    times, time = [], 0
    for d in c["dt"]:
        time += d
        times.append(time)
    level = [c["frame_kind"][f] & 63 for f in c["node_frame"]]
    want_nodes, want_levels = {}, {}
    for at, until, node in zip(times, times[1:], c["stack"]):
        want_levels[level[node]] = want_levels.get(level[node], 0) + until - at
        while node:
            want_nodes[node] = want_nodes.get(node, 0) + until - at
            node = c["node_parent"][node]
    nodes, levels = {}, {}
    for begin, end, _, node in spans(c, "call_", "node"):
        nodes[node] = nodes.get(node, 0) + end - begin
    for begin, end, _, kind in spans(c, "level_", "kind"):
        levels[kind] = levels.get(kind, 0) + end - begin
    want_nodes = {k: v for k, v in want_nodes.items() if v}
    tap.check(nodes == want_nodes and len(nodes) > 10, "calls last as long as samples are in them", differ(nodes, want_nodes)[:5])
    tap.check(levels == {k: v for k, v in want_levels.items() if v and k}, "levels, too", (levels, want_levels))
    tap.check(head["more_calls"] == 0 and all(a < b for a, b, _, _ in spans(c, "call_", "node")), "calls within one time of the trace are not drawn", head["instant_calls"])


def traced():
    """Of hardware trace: the same sums as the report's, levels and calls."""
    data = os.path.join(WORK, "traced.data")
    if subprocess.run([CLEW, "record", "-q", "-e", "soft_pt//u", "-o", data, "--", "/bin/true"], env=ENV, capture_output=True, check=False).returncode:
        tap.skip("a page of hardware trace", "nothing can be stepped here")
        return
    for how in ("--itrace=i1usg", "--itrace=b", "--itrace=i100usg"):
        path, run = page(data, "traced", how)
        head, c = unpack.unpack(path)
        unpack.check(head, c)
        got, nr, weight = unpack.sums(head, c, next(i for i, e in enumerate(head["events"]) if e["samples"]))
        want, want_nr, want_weight = rows(data, how)
        tap.check(run.returncode == 0 and (nr, weight) == (want_nr, want_weight) and nr and not differ(got, want), how + ": counts are those of the report", [nr, want_nr, *differ(got, want)[:5]])
        if how == "--itrace=i1usg":
            trace_spans(head, c)


def merged():
    """More samples than the bound: entries of a kind and a bin of time; nothing else changes."""
    recording = os.path.join(WORK, "many.data")
    want, want_nr, want_weight = rows(recording)
    whole, columns = unpack.unpack(page(recording, "whole")[0])
    threads = {t[1]: i for i, t in enumerate(whole["threads"])}
    for bound in (70_000, 40_000):
        path, run = page(recording, "merged", "--max-samples", str(bound))
        head, c = unpack.unpack(path)
        unpack.check(head, c)
        got, nr, weight = unpack.sums(head, c)
        tap.check(bound / 3 < len(c["dt"]) <= bound and 0 < head["resolution"] < head["duration"], f"at most {bound} entries, in bins of time", (len(c["dt"]), head["resolution"]))
        tap.check((nr, weight) == (want_nr, want_weight) and (bound < 50_000 or not differ(got, want)), "sums do not change", [nr, want_nr, *differ(got, want)[:5]])
        mine = {t[1]: i for i, t in enumerate(head["threads"])}
        parts = [unpack.sums(h, d, keep=lambda i, _: d["thread"][i] == m[1001])[1] for h, d, m in ((whole, columns, threads), (head, c, mine))]
        tap.check(parts[0] == parts[1] > 0, "nor do those of a thread", parts)
        bins = {}
        time = 0
        for i, d in enumerate(c["dt"]):
            time += d
            kind = (time // head["resolution"], c["thread"][i], c["stack"][i], unpack.of(head, c, "cpu")[i])
            bins[kind] = bins.get(kind, 0) + 1
        tap.check(max(bins.values()) == 1, "one entry for each kind in a bin", max(bins.values()))
        finer = {}
        time = 0
        for i, d in enumerate(columns["dt"]):
            time += d
            finer[(2 * time // head["resolution"], columns["thread"][i], columns["stack"][i], columns["cpu"][i])] = 1
        tap.check(bound < 50_000 or len(finer) > bound, "half the bin would leave more than the bound", len(finer))
        with open(path, "rb") as a, open(page(recording, "again", "--max-samples", str(bound))[0], "rb") as b:
            tap.check(a.read() == b.read(), "the same bytes again")


def too_many():
    """No bin of time leaves few enough: what is rare counts in "(small)", and sums do not change."""
    recording = os.path.join(WORK, "many.data")
    want, want_nr, want_weight = rows(recording)
    for bound in (3000, 200, 5, 1):
        path, run = page(recording, "few", "--max-samples", str(bound))
        head, c = unpack.unpack(path)
        unpack.check(head, c)
        got, nr, weight = unpack.sums(head, c)
        tap.check(bound / 3 < len(c["dt"]) <= bound and head["resolution"] == head["duration"], f"at most {bound} entries of 100,000 samples, in one bin", (len(c["dt"]), head["resolution"]))
        small = sum(v[0] for (name, _), v in got.items() if name == "(small)")
        kept = {k for k in got if k[0] != "(small)"}
        tap.check((nr, weight) == (want_nr, want_weight) and head["rare"] * 10**6 == small > 0 and all(got[k][0] <= want[k][0] for k in kept), "sums do not change, and the page says how much is small", (nr, weight, head["rare"], small))
        parts = {}
        for t, n in zip(unpack.of(head, c, "thread"), unpack.of(head, c, "nr")):
            parts[tuple(head["threads"][t][1:3])] = parts.get(tuple(head["threads"][t][1:3]), 0) + n
        tap.check(sum(parts.values()) == want_nr and ((-1, "(small)") in parts) == (bound < 1000), "threads keep theirs as long as there is room", (len(parts), parts.get((-1, "(small)"))))
        with open(path, "rb") as a, open(page(recording, "again", "--max-samples", str(bound))[0], "rb") as b:
            tap.check(a.read() == b.read(), "the same bytes again")
    frequent = unpack.sums(*unpack.unpack(page(recording, "few", "--max-samples", "3000")[0]))[0]
    tap.check(sum(v[0] for (n, _), v in frequent.items() if n != "(small)") > want_weight / 2, "the frequent ones are kept")


def half_timeless():
    """What has no time comes first, at no distance."""
    for name, options in (("half", ()), ("half-merged", ("--max-samples", "10"))):
        head, c = unpack.unpack(page(page_data.half_timeless(WORK), name, *options)[0])
        unpack.check(head, c)
        events = unpack.of(head, c, "event")
        nr = [sum(n for n, e in zip(unpack.of(head, c, "nr"), events) if e == k) for k in range(2)]
        tap.check(sorted(nr) == [20, 40] and len(c["dt_wide"]) == 0 and sum(c["dt"]) <= 39000, name + ": samples without times beside others", (nr, len(c["dt_wide"]), list(c["dt"])))


def rare():
    recording, nr = os.path.join(WORK, "rare.data"), 250_000
    page_data.many(PAGE_MAKE, WORK, recording, nr, 8000)
    whole = unpack.unpack(page(recording, "whole")[0])
    head, c = unpack.unpack(page(recording, "rare", "--max-samples", "40000")[0])
    unpack.check(head, c)
    nodes = len(c["node_parent"]), len(whole[1]["node_parent"])
    tap.check(head["small"] > 1000 and nodes[0] < nodes[1] - head["small"] / 2, "rare nodes of a large tree are one child of their callers", (head["small"], nodes))
    got, want = unpack.sums(head, c), unpack.sums(*whole)
    small = [v for n, v in got[0].items() if n[0] == "(small)"]
    tap.check(got[1:] == want[1:] and small and sum(v[0] for v in got[0].values()) == sum(v[0] for v in want[0].values()), "and their sums are those of what they stand for", (got[1:], want[1:], small))


def refusals(recording, work):
    def is_refused(name, status, *options):
        path = os.path.join(work, "no.html")
        run = clew("-i", recording, *(o.replace("PAGE", path) for o in options))
        tap.check(run.returncode == status and run.stderr.startswith("clew: error:") and not os.path.exists(path), name, run)

    is_refused("--html and --json exclude each other", 2, "--html", "PAGE", "--json")
    is_refused("--html takes no sort keys", 2, "--html", "PAGE", "-s", "dso")
    is_refused("--html and --mem exclude each other", 2, "--html", "PAGE", "--mem")
    is_refused("--html takes no choice of functions", 2, "--html", "PAGE", "main")
    is_refused("a directory that is not there", 1, "--html", work + "/none/x.html")
    broken = os.path.join(work, "broken.data")
    with open(broken, "wb") as f:
        f.write(b"no recording")
    path = os.path.join(work, "broken.html")
    run = clew("-i", broken, "--html", path)
    tap.check(run.returncode == 1 and not os.path.exists(path), "no page of what is no recording", run)
    if os.path.exists("/dev/full"):
        run = clew("-i", recording, "--html", "/dev/full")
        tap.check(run.returncode == 1 and "No space left" in run.stderr, "a full disk", run)
    path = page(recording, "end")[0]
    size = os.path.getsize(path)
    os.unlink(path)
    run = subprocess.run([CLEW, "report", "-q", "-i", recording, "--html", path], capture_output=True, text=True, env=ENV, check=False, stdin=subprocess.DEVNULL,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, size - 1)))
    tap.check(run.returncode == 1 and "File too large" in run.stderr and not os.path.exists(path), "no room for the last byte: nothing is left", run)


def has_open(pid, folder):
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass  # closed meanwhile
    return any(link.startswith(folder + "/") for link in links)


def stopped(work):
    """Killed while its input does not end: nothing of the page remains, and what stood there stays."""
    folder = os.path.join(work, "stopped")
    os.makedirs(folder)
    path, event = os.path.join(folder, "page.html"), pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME)
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600))
    except OSError as e:
        tap.skip("a page that is killed", str(e))
        return
    with open(path, "wb") as f:
        f.write(b"earlier")
    with subprocess.Popen([CLEW, "report", "-q", "-i", "-", "--html", path], stdin=subprocess.PIPE, env=ENV) as p:
        p.stdin.write(struct.pack("<8sQ", b"PERFILE2", 16) + pm.record(64, event.attr + struct.pack("<Q", event.ident)) + event.sample(0x1000) + pm.record(68, b"") * 2)
        p.stdin.flush()
        while p.poll() is None and not has_open(p.pid, folder):
            time.sleep(0.01)
        p.send_signal(signal.SIGKILL)
        p.wait()
    with open(path, "rb") as f:
        tap.check((p.returncode, f.read(), os.listdir(folder)) == (-signal.SIGKILL, b"earlier", ["page.html"]), "killed: nothing remains, and what stood there stays", (p.returncode, os.listdir(folder)))


def damaged(recording, work):
    with open(recording, "rb") as f:
        data = f.read()
    cut = os.path.join(work, "cut.data")
    with open(cut, "wb") as f:
        f.write(data[: len(data) * 3 // 5])
    path, run = page(cut, "cut")
    head, columns = unpack.unpack(path)
    unpack.check(head, columns)
    tap.check(0 < head["samples"] < 4000 and head["cut"] and "offset 0x" in head["cut"], "of a recording that is cut off: what is there, and where it ends", (head["samples"], head["cut"], run))


def main():
    os.makedirs(OUT, exist_ok=True)
    recording = page_data.sampled(WORK)
    sums(recording)
    bytes_of(recording, page_data.empty(WORK))
    hostile(WORK)
    many()
    licenses()
    intervals()
    pauses()
    losses()
    traced()
    merged()
    too_many()
    half_timeless()
    rare()
    refusals(recording, WORK)
    stopped(WORK)
    damaged(recording, WORK)
    tap.done()


main()
