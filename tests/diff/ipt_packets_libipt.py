#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Usage: ipt_packets_libipt.py PROGRAM DATA: Intel PT packets against libipt's, of each header byte, of bytes by chance, and of recordings. TAP."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from ipt_lib import anything, aux_areas, each_packet, recordings
from tap import check, done, skip

program, data = sys.argv[1:]


def compare(name, stream):
    p = subprocess.run([program], input=stream, capture_output=True, check=False)
    lines = p.stdout.decode().splitlines()
    check(p.returncode == 0, f"{name}: {', '.join(x for x in lines if x[0] != '#')}", "\n".join(lines))


compare("each header", each_packet())
compare("bytes by chance", anything())
found = recordings(data)
for what, path in found:
    for at, area in aux_areas(path):
        compare(f"{what}, at {at:#x}", area)
if not found:
    skip("recordings", "no Intel PT in " + data)
done()
