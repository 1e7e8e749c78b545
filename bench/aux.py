# SPDX-License-Identifier: LGPL-2.1-or-later
"""What reading AUX areas costs beside write(2) of the same bytes, into the folder of the build and into memory (/dev/shm)."""
import os
import shutil
import subprocess

MIB = 512


def bench_aux(build, folder):
    subprocess.run(["ninja", "-C", build, "bench/aux_bench"], check=True, stdout=subprocess.DEVNULL)
    for place in (folder, "/dev/shm"):
        if not os.path.isdir(place) or shutil.disk_usage(place).free < 2 * MIB << 20:
            print(f"aux: no room in {place}")
            continue
        print(f"aux: made-up areas, read into {place}", flush=True)
        subprocess.run([os.path.join(folder, "aux_bench"), os.path.join(place, f"aux.{os.getpid()}.data"), str(MIB)], check=False)
