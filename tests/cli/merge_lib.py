# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples and user stacks of one recording, as clew reads it and as other tools do. Beside stack_lib.py."""
import collections
import json
import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from stack_lib import CLEW, Entries, may_use_bpf, samples, user_part, why_missing, without_table_again

PERFPARSERS = ["/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser", "/usr/lib/aarch64-linux-gnu/libexec/hotspot-perfparser"]
PAGE = 0xfff  # perf 6.1 prints places in files: from page to page the same


def run(argv, **more):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          check=False, **more)


def needs_bpf_and_perf(t):
    if not may_use_bpf():
        t.skip_all("tables in the kernel need root and BTF")
    if not shutil.which("perf"):
        t.skip_all("perf is not installed")


def chains_of_clew(path):
    """[(time in ns, [places in their pages])], users' only"""
    return sorted((s["time"], [int(f["ip"], 16) & PAGE for f in user_part(s)]) for s in samples(path))


def chains_of_perf(path, perf="perf", is_kept=lambda ip: ip < 1 << 63, mask=PAGE):
    """([(time in ns, [places])], what ran): of the addresses that are kept"""
    p = run([perf, "script", "--ns", "--no-inline", "--max-stack", "2048", "-F", "time,ip", "-i", path])
    found = []
    for line in p.stdout.splitlines():
        head = re.fullmatch(r"\s*(\d+)\.(\d{9}):\s*", line)
        if head:
            found.append((int(head.group(1)) * 10**9 + int(head.group(2)), []))
        elif line.strip() and found:
            ip = int(line.split()[0], 16)
            if is_kept(ip):
                found[-1][1].append(ip & mask)
    return sorted(found), p


def hex_of(chain):
    return [hex(ip) for ip in chain]


def counted_by_perf(path):
    """Samples of `perf report`: those of its --stats, and the sum of its -n column."""
    stats = run(["perf", "report", "--stats", "-i", path])
    nr = re.search(r"SAMPLE events:\s+(\d+)", stats.stdout)
    report = run(["perf", "report", "--stdio", "-n", "-g", "none", "--no-children", "-i", path])
    rows = re.findall(r"^\s+[\d.]+%\s+(\d+)\s", report.stdout, re.M)
    return int(nr.group(1)) if nr else 0, sum(map(int, rows)), stats.stderr + report.stderr, stats.returncode or report.returncode


def compare(t, name, path, may_say=(), may_be_bare=False):
    """perf reads of @p path what clew does, and says nothing else. @return whether there are user stacks, which @p may_be_bare does without."""
    with ThreadPoolExecutor() as beside:
        counted, chains = beside.submit(counted_by_perf, path), beside.submit(chains_of_perf, path)
        ours = chains_of_clew(path)
    (events, listed, said, status), (theirs, p) = counted.result(), chains.result()
    said = [line for line in (p.stderr + said).splitlines() if line.strip() and not line.startswith(may_say or "\0")]
    t.check(ours and [time for time, _ in ours] == [time for time, _ in theirs], f"{name}: perf script has the same samples",
            f"{len(ours)} and {len(theirs)}")
    t.check(events == listed == len(ours), f"{name}: and so has perf report", f"{len(ours)}, {events} and {listed}")
    has_stacks = any(c for _, c in ours)
    t.check([c for _, c in ours] == [c for _, c in theirs] and (has_stacks or may_be_bare), f"{name}: and the same user stacks",
            [(hex_of(a), hex_of(b)) for (_, a), (_, b) in zip(ours, theirs) if a != b][:2])
    t.check(p.returncode == 0 and status == 0 and not said, f"{name}: perf reads it without a warning", said[:3])
    return has_stacks


def check_whole(t, name, paths, comm, nr_no_copy):
    """Every user stack of @p comm goes to where its thread began, or says why not; few have to, once the recorder has the tables.
    @p nr_no_copy: stacks without a table for which the recorder reports that it had no room to copy them."""
    entries, whole, ends = Entries(), 0, collections.Counter()
    of_comm = [s for path in paths for s in samples(path) if s["comm"] == comm]
    for s in of_comm:
        user = user_part(s)
        if user and entries.is_outermost(user[-1]):
            whole += 1
        elif user:
            ends[why_missing(s) or user[-1].get("why") or f"no reason: {user[-1].get('sym')} {user[-1].get('dso')}"] += 1
    early, waiting = ends.total() - ends["no-table-yet"], ends["no-table-yet"]
    t.check(whole and not any(why.startswith("no reason") for why in ends), f"{name}: the stacks are whole, or say why not", ends)
    t.check(whole > waiting and early <= max(3, whole // 100), f"{name}: 99 % of the user stacks go to the outermost frame", f"{whole} whole; {ends}")
    again = without_table_again(of_comm)
    # Stacks without a table are copied and ended in user space, while the kernel still waits for it: one that finds no room
    # for its copy then lacks the table by which the one before it was ended.
    t.check(len(again) <= nr_no_copy, f"{name}: a table that was there stays", f"{len(again)} of {whole}, {nr_no_copy} without a copy: {again[:1]}")


def perfparser():
    return next((p for p in PERFPARSERS if os.path.exists(p)), None)


def hotspot(t, name, path):
    hotspot_row(t, name, path)()


def hotspot_row(t, name, path):
    """@return what states the outcome: the work may be done beside other work."""
    if not perfparser():
        return lambda: t.skip(f"{name}: hotspot's parser", "it is not installed: tools/setup.sh readers")
    out = t.path("hotspot.out")
    p = run([perfparser(), "--input", path, "--output", out])
    is_good = p.returncode == 0 and os.path.getsize(out) > 0 and "callchain" not in p.stderr
    os.unlink(out)
    return lambda: t.check(is_good, f"{name}: hotspot's parser takes it, and every context of its chains", p.stderr[-500:])


HEAD = re.compile(r"\s*(.*\S)\s+(-?\d+)/(-?\d+)\s+(?:\[\d+\]\s+)?\d+\.\d+:")
FRAME = re.compile(r"\s*[0-9a-f]+ (.+?)(?:\+0x[0-9a-f]+)? \(([^)]*)\)")


def spelled(name):
    return name.rpartition("!")[2] if name.startswith("[unknown]!") else name


def roots_of_perf(text, comm):
    """{(tid, outermost frame): samples} of the text of perf script, of threads that are once called @p comm."""
    roots, wanted = collections.Counter(), set()
    text = re.sub(r"\A(#.*\n)+", "", text.rpartition("# ========\n")[2])
    for head, *frames in (part.splitlines() for part in re.split(r"\n\n+", text) if HEAD.match(part)):
        m = HEAD.match(head)
        frames = [f for f in (FRAME.fullmatch(line) for line in frames) if f]
        if m.group(1) == comm:
            wanted.add(m.group(3))
        if frames:
            roots[m.group(3), spelled(f"{frames[-1].group(2)}!{frames[-1].group(1)}")] += 1
    return collections.Counter({key: n for key, n in roots.items() if key[0] in wanted})


class ImporterSession:
    """profiler-cli's server with one profile. Its own `load` gives a server half a second to begin: not on a busy machine."""

    def __init__(self, t, path):
        self.id = os.path.basename(path)
        self.env = {**os.environ, "PROFILER_CLI_SESSION_DIR": t.path("importer")}
        os.makedirs(t.path("importer"), exist_ok=True)
        self.server = subprocess.Popen(["profiler-cli", "--daemon", path, "--session", self.id], env=self.env, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, *words):
        p = run(["profiler-cli", *words, "--session", self.id, "--json"], env=self.env)
        try:
            return json.loads(p.stdout)
        except ValueError:
            return None

    def wait_for_threads(self):
        """A question before the server listens would have its session cleared away as one that died."""
        for _ in range(3000):
            listens = os.path.exists(os.path.join(self.env["PROFILER_CLI_SESSION_DIR"], self.id + ".sock"))
            found = listens and self.ask("thread", "list", "--limit", "100000")
            if found or self.server.poll() is not None:
                return found
            time.sleep(0.1)
        return None

    def end(self):
        self.server.terminate()
        self.server.wait()


def roots_of_importer(session, tids):
    roots = collections.Counter()
    for thread in (session.wait_for_threads() or {}).get("threads", []):
        if str(thread["tid"]) not in tids:
            continue
        tree = session.ask("thread", "samples-top-down", "--include-idle", "--max-lines", "1000000", "--thread", thread["threadHandle"])
        for root in (tree or {}).get("regularCallTree", {}).get("children", []):
            roots[str(thread["tid"]), spelled(root["nameWithLibrary"])] += root["totalSamples"]
    return roots


def firefox(t, name, path, comm):
    firefox_row(t, name, path, comm)()


def firefox_row(t, name, path, comm):
    """What the Firefox Profiler imports is the text of perf script. @return as of hotspot_row()."""
    if not shutil.which("profiler-cli"):
        return lambda: t.skip(f"{name}: the Firefox Profiler", "profiler-cli is not installed: tools/setup.sh readers")
    text = run(["perf", "script", "--header", "--no-inline", "--max-stack", "2048", "-F", "+pid", "-i", path]).stdout
    with open(path + ".firefox", "w", encoding="utf-8", errors="replace") as f:
        f.write(text)
    wanted = roots_of_perf(text, comm)
    session = ImporterSession(t, f.name)
    try:
        theirs = roots_of_importer(session, {tid for tid, _ in wanted})
    finally:
        session.end()
        os.unlink(f.name)
    return lambda: t.check(wanted and theirs == wanted, f"{name}: the Firefox Profiler has all stacks, to their outermost frames",
                           f"{sum(wanted.values())} and {sum(theirs.values())}: {(wanted - theirs).most_common(3)} {(theirs - wanted).most_common(3)}")


def samply(t, name, path):
    """samply makes a profile for the Firefox Profiler of the recording itself. Callers are the addresses of their calls there."""
    command = os.environ.get("CLEW_SAMPLY") or shutil.which("samply")
    if not command:
        t.skip(f"{name}: samply", "it is not installed, and $CLEW_SAMPLY names none (Debian sid has it)")
        return
    p = run([command, "import", path, "--save-only", "-o", t.path("samply.json")])
    if not t.check(p.returncode == 0, f"{name}: samply imports it", p.stderr):
        return
    with open(t.path("samply.json"), encoding="utf-8") as f:
        theirs = sorted((time, chain) for thread in json.load(f)["threads"] for time, chain in chains_of_profile(thread))
    ours = [(s["time"], [(int(f["ip"], 16) - (i > 0)) & PAGE for i, f in enumerate(whole_part(s)) if f.get("kind") == "user"]) for s in samples(path)]
    ours = [chain for _, chain in sorted(ours)]
    unlike = [(hex_of(a), hex_of(b)) for a, (_, b) in zip(ours, theirs) if a != b[len(b) - len(a):]]
    t.check(len(ours) == len(theirs) and any(ours) and not unlike, f"{name}: samply has the same samples and user stacks",
            f"{len(ours)} and {len(theirs)}; {unlike[:1]}")


def whole_part(s):
    return [f for f in s.get("callchain", []) if f.get("kind") in ("user", "kernel")]


def chains_of_profile(thread):
    """(time, [places in their pages], outwards) of a thread in the format of the Firefox Profiler"""
    of, address = thread["stackTable"], thread["frameTable"]["address"]
    elapsed = 0
    for i, at in enumerate(thread["samples"]["stack"]):
        elapsed = thread["samples"]["time"][i] if "time" in thread["samples"] else elapsed + thread["samples"]["timeDeltas"][i]
        chain = []
        while at is not None:
            chain.append(address[of["frame"][at]] & PAGE)
            at = of["prefix"][at]
        yield elapsed, chain
