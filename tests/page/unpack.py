# SPDX-License-Identifier: LGPL-2.1-or-later
"""The data of a page that clew wrote: gzip, head and columns. As a program: unpack.py PAGE.html prints what is there."""
import array
import base64
import gzip
import json
import re
import struct
import sys



def numbers(raw, size, nr):
    """Integers stand as planes: the lowest byte of each, then the next byte of each."""
    if size == 8:
        return array.array("d", raw)
    planes = [raw[k * nr:(k + 1) * nr] for k in range(size)] + [bytes(nr)] * (4 - size)
    whole = bytearray(4 * nr)
    for k, plane in enumerate(planes):
        whole[k::4] = plane
    return array.array("I", bytes(whole))



def unpack(path):
    """@return head, {name: array}; checks lengths, alignment and indexes."""
    with open(path, encoding="ascii") as f:
        text = f.read()
    blocks = re.findall(r'<script type="application/octet-stream" id="data-(\d+)">([A-Za-z0-9+/=]*)</script>', text)
    assert [int(n) for n, _ in blocks] == list(range(len(blocks))) and blocks, "blocks"
    packed = b"".join(base64.b64decode(b, validate=True) for _, b in blocks)
    assert packed[3] & 0xFE == 0 and packed[4:8] == bytes(4), "gzip has a name or a time"
    raw = gzip.decompress(packed)
    magic, version, size = struct.unpack_from("<4sII", raw)
    assert magic == b"CLEW" and version == 2 and (12 + size) % 8 == 0, "start"
    head = json.loads(raw[12:12 + size])
    columns, end = {}, 0
    for name, (kind, at, nr) in head["columns"].items():
        assert at % 8 == 0 and at >= end, name + " overlaps"
        end = at + nr * kind
        columns[name] = numbers(raw[12 + size + at:12 + size + end], kind, nr)
        assert len(columns[name]) == nr, name + " is short"
    assert 12 + size + end == len(raw), "bytes at the end"
    columns["node_parent"] = array.array("I", (i - p for i, p in enumerate(columns["node_parent"])))
    columns["stack"] = array.array("I", (columns["stack_node"][s] for s in columns["stack"]))
    return head, columns


def of(head, columns, name):
    """A column of samples, also one that all have in common."""
    return columns.get(name) or array.array("Q", [head["same"][name]] * len(columns["dt"]))


def check(head, c):
    """Indexes inside tables, callers before callees."""
    nodes, frames = len(c["node_parent"]), len(c["frame_name"])
    assert len(c["node_frame"]) == nodes and {len(c[n]) for n in ("frame_dso", "frame_kind", "frame_file", "frame_line")} == {frames}
    assert all(p < i for i, p in enumerate(c["node_parent"]) if i)
    assert all(f < frames for f in c["node_frame"])
    assert all(s < len(head["strings"]) for n in ("frame_name", "frame_dso", "frame_file") for s in c[n])
    assert all(s < nodes for s in c["stack"])
    if "thread" in c:
        assert all(t < len(head["threads"]) for t in c["thread"])
    assert len({len(c[n]) for n in ("dt", "stack", "thread", "cpu", "weight", "event", "cgroup", "nr") if n in c}) == 1


def sums(head, c, event=0, keep=lambda i, time: True):
    """{(function, file): [self, total]}, the number and weight of samples: the page's counting again."""
    n, nodes, stack, weight, events, many = len(c["dt"]), len(c["node_parent"]), c["stack"], of(head, c, "weight"), of(head, c, "event"), of(head, c, "nr")
    own, total, nr, time, wide = [0] * nodes, [0] * nodes, 0, int(head["start"]), iter(c.get("dt_wide", ()))
    for i in range(n):
        time += c["dt"][i] if c["dt"][i] != 0xFFFFFFFF else int(next(wide))
        if events[i] == event and keep(i, time):
            own[stack[i]] += int(weight[i])
            nr += many[i]
    out = {}
    for i in range(nodes - 1, -1, -1):
        total[i] += own[i]
        if i:
            total[c["node_parent"][i]] += total[i]
    for i in range(1, nodes):
        f, up = c["node_frame"][i], c["node_parent"][i]
        while up and c["node_frame"][up] != f:
            up = c["node_parent"][up]
        row = out.setdefault((head["strings"][c["frame_name"][f]], head["strings"][c["frame_dso"][f]]), [0, 0])
        row[0] += own[i]
        row[1] += 0 if up else total[i]
    return {k: v for k, v in out.items() if v != [0, 0]}, nr, total[0]


if __name__ == "__main__":
    HEAD, COLUMNS = unpack(sys.argv[1])
    check(HEAD, COLUMNS)
    print(json.dumps({k: v for k, v in HEAD.items() if k not in ("strings", "records")}, indent=1))
