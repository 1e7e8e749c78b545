# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a recording of softaux that events pause and resume has to hold. As aux_checks.py."""
import bisect
import re

from aux_file import PAUSE, R_THROTTLE, RESUME, SA_RESUME, SA_TICK

MS = 10**6


def key_of(g, r):
    """Of the event that traces @r: an inherited one exists per CPU, with a pause state per CPU; one of a task alone follows it; one of a CPU takes all."""
    return {"task-cpu": (r.tid, r.cpu), "task": r.tid, "cpu": r.cpu}[g.row.scope]


def intervals(g):
    """{event: [(resumed, paused)]} by the samples of the triggers; a bit, not a counter."""
    found, since = {}, {}
    for r, action in g.file().triggers():
        key = key_of(g, r)
        if action & RESUME and key not in since:
            since[key] = r.time
        elif action & PAUSE and key in since:
            found.setdefault(key, []).append((since.pop(key), r.time))
    for key, time in since.items():
        found.setdefault(key, []).append((time, 1 << 63))
    return found


def only_between(g):
    """Ticks only between a resume sample and the next pause sample: the sample of a resume is before its action, that of a pause after it."""
    spans = intervals(g)
    begins = {key: [a for a, _ in of] for key, of in spans.items()}
    ticks = [s for s in g.soft() if s.type == SA_TICK]
    nr = sum(map(len, spans.values()))
    g.notes.append(f"{nr} intervals, {len(ticks)} ticks in them")

    def is_inside(s):
        key = key_of(g, s)
        i = bisect.bisect_right(begins.get(key, []), s.time) - 1
        return i >= 0 and s.time <= spans[key][i][1]
    outside = [s for s in ticks if not is_inside(s)]
    wrong = [f"{len(outside)} of {len(ticks)} ticks outside: {outside[:2]}"] if outside else []
    wrong += [f"tick while paused: {s}" for s in ticks if s.paused][:2]
    return wrong + ([] if ticks and nr >= g.row.least else [f"{nr} intervals, {len(ticks)} ticks"])


def lists_intervals(g):
    """A29, A31, A35: clew's reader finds the same intervals. One that no pause ended may end with its thread."""
    tracing = g.summary().get("tracing", {"of": []})
    ours = sorted((i["from"], i["to"] if i["end"] == "pause" else 1 << 63) for of in tracing["of"] for i in of["intervals"])
    theirs = sorted(i for of in intervals(g).values() for i in of)
    wrong = [] if ours and ours == theirs else [f"{len(ours)} intervals, not {len(theirs)}: {sorted(set(ours) ^ set(theirs))[:4]}"]
    return wrong + [f"{tracing[k]} {k}" for k in ("lost_pauses", "lost_resumes") if tracing.get(k)]


def first_hit_acts(g):
    """A5: each event was resumed in its first interval. An emulated timer may be too late for a tick."""
    spans = intervals(g)
    wrong = [] if spans else ["no interval"]
    for key, of in spans.items():
        if not any(of[0][0] <= s.time <= of[0][1] for s in g.soft() if s.type in (SA_TICK, SA_RESUME) and key_of(g, s) == key):
            wrong.append(f"{key}: the first resume, at {of[0][0]}, did nothing")
    return wrong


def each_start_acts(g):
    """A5: the first resume after each start is served: the trace has a record between it and the pause."""
    asked, times = int(g.text("asked") or 0), [s.time for s in g.soft() if s.type in (SA_TICK, SA_RESUME)]
    spans = [span for of in intervals(g).values() for span in of]
    idle = [span for span in spans if bisect.bisect_left(times, span[0]) == bisect.bisect_right(times, span[1])]
    return [f"{len(idle)} of {len(spans)} did nothing: {idle[:2]}"] if idle else [] if len(spans) >= asked else [f"{len(spans)} of {asked} starts"]


def only_its_task(g):
    """A34: a child without triggers has no tick."""
    parent = {r.tid for r, _ in g.file().triggers()}
    others = {s.tid for s in g.soft() if s.type == SA_TICK and s.tid not in parent}
    return [f"ticks of tasks that were never resumed: {sorted(others)[:5]}"] if others else []


def throttled_said(g):
    """A30: that triggers may be missing because the kernel throttled them."""
    nr = len(g.file().of_type(R_THROTTLE))
    said = g.stats()
    counted = re.search(r"(\d+)\s+times that the kernel throttled", said)
    return [] if nr == (int(counted.group(1)) if counted else 0) else [f"{nr} THROTTLE: {said[-300:]}"]


def switched_at_run_time(g):
    """A6: a trigger that --control switches off resumes nothing; switched on, it acts at its next hit."""
    off, on = (float(t) * 1e9 for t in g.text("switched").split()[:2])
    resumes = [r.time for r, action in g.file().triggers() if action & RESUME]
    ticks = [s.time for s in g.soft() if s.type == SA_TICK]
    wrong = [f"{what} while it was off" for what, times in (("resume samples", resumes), ("ticks", ticks)) if any(off + 100 * MS < t < on - 100 * MS for t in times)]
    return wrong + [f"no {what} {when}" for what, times in (("resume sample", resumes), ("tick", ticks)) for when, is_there in (
        ("before", any(t < off for t in times)), ("after", any(t > on for t in times))) if not is_there]
