# SPDX-License-Identifier: LGPL-2.1-or-later
"""One run of a benchmark's target, alone or under a recorder, and why it gave no figures."""
import collections
import re
import resource
import subprocess

# seconds and CPU seconds are what the target prints of itself, cpu None where it does not; all_cpu is that of all that ran.
Took = collections.namedtuple("Took", "seconds cpu all_cpu err")


def why_not(run):
    """Why @p run, a finished one of subprocess with text, is no measurement."""
    lines = run.stderr.strip().splitlines()
    last = ": " + lines[-1].strip() if lines else ""
    if run.returncode < 0:
        return f"signal {-run.returncode}{last}"
    return (f"exit status {run.returncode}" if run.returncode else "prints no time") + last


def cpu_of_children():
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


def take(argv):
    """Run @p argv. @return (Took, None) or (None, why not)"""
    before = cpu_of_children()
    try:
        run = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    except OSError as e:
        return None, str(e)
    printed = re.search(r"^(\d+\.\d+)(?: (\d+\.\d+))?$", run.stdout, re.M)
    if run.returncode or not printed:
        return None, why_not(run)
    return Took(float(printed[1]), float(printed[2]) if printed[2] else None, cpu_of_children() - before, run.stderr), None


class Rounds:
    """Runs of several tools in turn, so that a busy minute hits all alike. tools: names, of which the first runs the target alone."""

    def __init__(self, names):
        self.names, self.runs = names, {name: [] for name in names}  # name -> [(Took or None, why not)]

    def add(self, name, result):
        self.runs[name].append(result)
        return result[0]

    def took(self, name):
        return [t for t, _ in self.runs[name] if t]

    def trouble(self, name):
        """What to print of runs that failed: "", or the first reason"""
        why = [w for t, w in self.runs[name] if not t]
        if not why:
            return ""
        return f"did not run: {why[0]}" if len(why) == len(self.runs[name]) else f"{len(why)} of {len(self.runs[name])} did not run: {why[0]}"

    def slower(self, name, of):
        """Percent by which of(Took) is more than alone, of each run against its own neighbour: the machine's slow changes drop out."""
        pairs = zip(self.runs[self.names[0]], self.runs[name])
        return [100 * (of(b) / of(a) - 1) for (a, _), (b, _) in pairs if a and b]
