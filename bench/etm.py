# SPDX-License-Identifier: LGPL-2.1-or-later
"""CoreSight: decoding ETM trace, against OpenCSD through its C API and its own command, in one run."""
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SNAPSHOT = os.path.join(HERE, "..", "..", "shared", "data", "coresight", "bugfix-exact-match")


def bench_lister(snapshot):
    """trc_pkt_lister prints what it decodes; newer ones have -profile, which leaves that out."""
    lister = shutil.which("trc_pkt_lister")
    if not lister:
        print("  trc_pkt_lister is not installed: apt-get install libopencsd-bin")
        return
    with tempfile.TemporaryDirectory() as where:  # it writes a log file where it runs
        has_profile = "-profile" in subprocess.run([lister, "-help"], cwd=where, capture_output=True, text=True, check=False).stdout
        how = ["-decode", "-profile"] if has_profile else ["-decode_only", "-logfilename", "/dev/null"]
        start = time.monotonic()
        subprocess.run([lister, "-ss_dir", snapshot, *how], cwd=where, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    print(f"  trc_pkt_lister {' '.join(how)}: {(time.monotonic() - start) * 1e3:.0f} ms in all"
          + ("" if has_profile else ", most of it printing"))


def bench_threads(tool, snapshot):
    """40 times its trace in a row: what a second thread gains shows in long ones."""
    with tempfile.TemporaryDirectory() as where:
        long = shutil.copytree(snapshot, os.path.join(where, "snapshot"))
        trace = os.path.join(long, "cstrace.bin")
        with open(trace, "rb") as file:
            data = file.read()
        os.chmod(long, 0o700)
        os.remove(trace)
        with open(trace, "wb") as file:
            for _ in range(40):
                file.write(data)
        subprocess.run([tool, long, "5", "threads"], check=False)


def bench_etm(build):
    """@return nothing; prints ratios. The made trace: 100 million instructions."""
    if subprocess.run(["ninja", "-C", build, "bench/etm_bench"], stdout=subprocess.DEVNULL, check=False).returncode:
        print("etm: etm_bench does not build. Is what clew is compared with installed? apt-get install libopencsd-dev")
        return
    print("etm:", flush=True)
    tool = os.path.join(build, "bench", "etm_bench")
    snapshot = os.path.realpath(SNAPSHOT)
    if os.path.isdir(snapshot):
        subprocess.run([tool, snapshot, "10"], check=False)
        bench_lister(snapshot)
        bench_threads(tool, snapshot)
    else:
        print(f"  {snapshot}: not here")
    subprocess.run([tool, "made", "100", "600", "3"], check=False)
