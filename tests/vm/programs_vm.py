#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""User stacks of Debian's programs on arm64, in an emulated machine: README.md.

Return addresses are signed in all of them (trixie's compiler's default). `clew record -g` has to reach the outermost frame of at least 99.5 % of the
samples by BPF and by copies; the kernel's own frame pointers have to hold no signature.
Usage: CLEW_VM=1 programs_vm.py CLEW [METHOD ...]     CLEW is arm64's.
Environment: CLEW_VM_KERNEL (6.12, or a version as fetch.sh knows them), CLEW_VM_CACHE (/tmp/kernels), CLEW_VM_KEEP=FOLDER"""
import collections
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]
import tap  # noqa: E402
import vm_lib  # noqa: E402

CACHE = vm_lib.CACHE
BAR = 99.5
METHODS = {"auto": "auto", "copy": "dwarf,65528", "fp": "fp"}
# name: its arguments. What it works on is made by SCRIPT.
PROGRAMS = {
    "python3.13": "-S /tmp/work.py",
    "perl": "/tmp/work.pl",
    "xz": "-0 -k -c /usr/bin/openssl",
    "openssl": "speed -seconds 1 -bytes 4096 sha256",
    "sqlite3": ":memory: 'with recursive c(x) as (select 1 union all select x+1 from c where x<20000) select count(*), sum(length(hex(x))) from c order by 1'",
    "bash": "/tmp/work.bash",
}
SCRIPT = r"""cat > /tmp/work.py << 'END'
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
f(16)
d = {str(i): i for i in range(10000)}
sorted(d)
END
cat > /tmp/work.pl << 'END'
my %h; for my $i (1 .. 80000) { $h{$i % 997} .= chr(65 + $i % 26) } my $n = 0; for (sort keys %h) { $n++ while $h{$_} =~ /A.*?C/g }
END
cat > /tmp/work.bash << 'END'
f() { local i; for ((i = 0; i < 300; i++)); do g $i; done; }
g() { local s=x$1; [[ $s == *7* ]] && s=${s//7/8}; }
f; f
END
while read -r method name arguments; do
	echo $method $name > /dev/console
	eval "clew record -v -e cpu-clock:u -F 300 --call-graph $method -o data -- /usr/bin/$name $arguments" > /dev/null 2> $method-$name.err
	clew report --stats -i data > $method-$name.stats 2>&1
	[ $method != fp ] || clew script -F ip -i data > $method-$name.chains 2>&1
done < /runs
rm -f data
"""


def make_root(arch, tmp, clew, methods):
    root = os.path.join(tmp, "root")
    shutil.copytree(os.path.join(CACHE, f"programs-{arch.name}"), root, symlinks=True)
    vm_lib.make_root(root, "run_init", {"clew": clew}, arch)
    with open(os.path.join(root, "runs"), "w", encoding="ascii") as f:
        f.writelines(f"{METHODS[method]} {name} {arguments}\n" for method in methods for name, arguments in PROGRAMS.items())
    return root


def read(out, name):
    try:
        with open(os.path.join(out, name), encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def judge_walks(out, method):
    """Of all programs together, so that one sample of one is not too much."""
    spelling, whys, nr, nr_complete = METHODS[method], collections.Counter(), 0, 0
    for name in PROGRAMS:
        text, said = read(out, f"{spelling}-{name}.stats"), read(out, f"{spelling}-{name}.err")
        found = re.search(r"^  samples (\d+): complete (\d+),.* none-expected (\d+)", text, re.M)
        tap.check(found, f"{method}, {name}: recorded", said.splitlines()[-3:] + text.splitlines()[-3:])
        if not found:
            continue
        samples, complete, none_expected = (int(n) for n in found.groups())
        tap.check(samples > 50, f"{method}, {name}: {samples} samples, {complete} complete")
        if method == "auto":
            tap.check("user stacks: bpf-" in said, f"{method}, {name}: by BPF", [line for line in said.splitlines() if "user stacks: not" in line])
        nr, nr_complete = nr + samples - none_expected, nr_complete + complete
        whys.update({why: int(n) for n, why in re.findall(r"^\s+(\d+)\s+[\d.]+%  ([a-z-]+)$", text, re.M)})
    share = 100 * nr_complete / nr if nr else 0
    tap.check(share >= BAR, f"{method}: {share:.2f} % of {nr} samples reach the outermost frame, at least {BAR}", str(dict(whys)))


def judge_frame_pointers(out):
    """The kernel's chains. What they lead to is not proven; but a signature left in one would make of it an address that is no user's."""
    for name in PROGRAMS:
        chains = [re.findall(r"^\s+([0-9a-f]+)$", part, re.M) for part in read(out, f"fp-{name}.chains").split("\n\n")]
        ends = collections.Counter(chain[-1] for chain in chains if len(chain) > 1)
        addresses = [int(ip, 16) for chain in chains for ip in chain]
        tap.check(len(addresses) > 50 and not [ip for ip in addresses if ip >> 48 and ip >> 48 != 0xffff], f"fp, {name}: {len(addresses)} frames, none signed",
                  read(out, f"fp-{name}.err").splitlines()[-3:])
        if ends:
            print(f"# fp, {name}: {ends.most_common(1)[0][1]} of {len(chains)} chains have one end")


def main():
    methods = sys.argv[2:] or list(METHODS)
    if os.environ.get("CLEW_VM") != "1" or len(sys.argv) < 2:
        tap.skip_all("CLEW_VM=1 boots machines, and fetches packages for them: tests/vm/README.md")
    arch = vm_lib.fetched(vm_lib.ARM64, CACHE)
    kernel = vm_lib.fetch_machine(arch, CACHE, os.environ.get("CLEW_VM_KERNEL", "6.12"))
    why = kernel if isinstance(kernel, str) else vm_lib.fetch(arch, CACHE, "programs") or vm_lib.what_is_missing(arch)
    if why:
        tap.skip_all(why)
    with tempfile.TemporaryDirectory() as tmp:
        root, began = make_root(arch, tmp, sys.argv[1], methods), time.monotonic()
        wrong = vm_lib.run_script(arch, tmp, kernel[1], root, SCRIPT, limit=900)
        print(f"# {kernel[0]}: {time.monotonic() - began:.0f} s for {len(PROGRAMS)} programs by {', '.join(methods)}")
        tap.check(not wrong, "the machine comes to its end", wrong[-800:].splitlines())
        out = os.path.join(tmp, "out")
        if not wrong and os.environ.get("CLEW_VM_KEEP"):
            shutil.copytree(out, os.environ["CLEW_VM_KEEP"], dirs_exist_ok=True)
        for method in methods if not wrong else ():
            if method == "fp":
                judge_frame_pointers(out)
            else:
                judge_walks(out, method)
    tap.done()


main()
