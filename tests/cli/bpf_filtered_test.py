#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: bpf_filtered_test.py CLEW: samples that a BPF filter did not want while they were recorded (LOST_SAMPLES with misc bit 15, perf from 6.12 on) are
counted separately from what was lost, in all views. TAP."""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from cli import perf_make as pm
from page import unpack
from tap import check, done

CLEW = os.path.abspath(sys.argv[1])
BPF = 1 << 15
work = tempfile.TemporaryDirectory(prefix="clew-bpf-")
PATH, OUT = (os.path.join(work.name, name) for name in ("perf.data", "out"))


def lost_samples(nr, time, misc=0):
    return pm.record(13, struct.pack("<Q", nr) + EVENT.sample_id(7, time), misc)


def write(*lost):
    samples = b"".join(EVENT.sample(0x400000 + i, time=1000 + i) for i in range(10))
    with open(PATH, "wb") as f:
        f.write(pm.perf_data([EVENT], pm.comm(EVENT, 7, b"app") + samples + b"".join(lost), {12: pm.event_desc([EVENT], [b"cpu-clock"])}))


def run(*args):
    p = subprocess.run([CLEW, *args], capture_output=True, check=False, timeout=60)
    return p.stdout.decode(), p.stderr.decode()


def export(name, *more):
    err = run("export", "--to", name, "-i", PATH, "-o", OUT, *more)[1]
    with open(OUT, "rb") as f:
        return f.read(), err


EVENT = pm.Event(pm.IDENTIFIER | pm.IP | pm.TID | pm.TIME | pm.CPU | pm.PERIOD)
write(lost_samples(3, 1004), lost_samples(40, 1006, BPF), lost_samples(2, 0, BPF))

text = run("report", "--stdio", "-i", PATH)[0]
check("# Total Lost Samples: 3\n" in text and "# Lost: 3 records" in text and "# Filtered by BPF while it was recorded: 42 samples\n" in text, "report", text)
text = run("report", "--stats", "-i", PATH)[0]
check(" 3  lost: the kernel" in text and " 42  filtered by BPF" in text, "--stats: what became of samples", text)
own = [line.split() for line in text.split("cpu-clock stats:")[1].splitlines() if "LOST" in line]
check(own == [["LOST_SAMPLES", "events:", "3"], ["LOST_SAMPLES", "(BPF)", "events:", "42"]], "--stats: of the event, as perf counts", text)
summary = json.loads(run("report", "--json", "-i", PATH)[0])["summary"]
check((summary["lost"], summary["filtered_by_bpf"]) == (3, 42), "report --json", summary)
text = run("script", "--show-lost-events", "-i", PATH)[0]
check("LOST_SAMPLES lost 3\n" in text and "LOST_SAMPLES lost 40 (filtered by BPF)\n" in text, "script", text)

run("report", "--html", OUT, "-i", PATH)
head, columns = unpack.unpack(OUT)
check((head["lost"], head["filtered_by_bpf"]) == (3, 42), "the page", head)
check([r[4] for r in head["records"] if r[1] == 0] == [3], "and its events", head["records"])

said = json.loads(export("collapsed", "--json")[1])
check((said["lost_records"], said["bpf_filtered_samples"]) == (3, 42), "export --json", said)
check("lost 3 records" in (err := export("collapsed")[1]) and "42 samples were filtered by BPF" in err, "export says it", err)
written = gzip.decompress(export("pprof")[0])
check(b"lost records: 3" in written and b"samples filtered by BPF: 42" in written, "pprof", written)
written = export("callgrind")[0]
check(b"desc: Lost records: 3\n" in written and b"desc: Samples filtered by BPF: 42\n" in written, "callgrind", written)
written = export("chrome")[0]
events = json.loads(gzip.decompress(written) if written[:2] == b"\x1f\x8b" else written)["traceEvents"]
lost = [e["args"] for e in events if e["name"] == "lost"]
check(len(lost) == 1 and "3" in str(lost[0]), "chrome: a mark for what was lost alone", lost)

write(lost_samples(3, 1004))
text = run("report", "--stdio", "-i", PATH)[0] + run("report", "--stats", "-i", PATH)[0] + run("report", "--json", "-i", PATH)[0]
check("BPF" not in text and "bpf" not in text, "nothing is said where there are none", text)
done()
