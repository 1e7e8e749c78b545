#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Make a program with a call chain that follows from its innermost function, and check samples of it.

Every function tN has one caller, so the truth of a sample is a walk up a table: no memory is shared with the program, and each
sample can be judged alone. The functions differ in what makes unwinding hard: alloca, realigned frames, large frames, stack
arguments, pushed registers, callbacks out of libc and out of modules, exceptions, signals on another stack.

Usage: truth_tree.py FILE.c [FILE.cc ...]: the sources, as the test compiles them; module.c is written next to each."""
import os
import random
import re
import sys

NR_NODES = 300
MAX_DEPTH = 110
NR_SIGNAL = 16  # nodes of the tree that the signal handler runs

PLAIN_KINDS = ["plain", "plain", "buffer", "alloca", "realigned", "wide", "pressure", "varargs", "double", "pointer", "large",
               "calls"]

HEAD = """/* made by tests/live/truth_tree.py */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NODE __attribute__((noinline, noclone)) unsigned
#define HIDE(p) __asm__ volatile("" : : "r"(p) : "memory")

static unsigned work; /* steps of the loop in every function; 0: hardly anything but calls */
static unsigned (*module_call)(unsigned x, unsigned (*back)(unsigned));
static char zero; /* not const: what it makes cannot be folded */

static inline __attribute__((always_inline)) unsigned spin(unsigned x)
{
	for (unsigned i = 0; i < work; i++) {
		x = x * 1664525u + 1013904223u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
"""

MAIN = """
static void on_signal(int nr)
{
	int saved = errno;

	s0((unsigned)nr);
	errno = saved;
}

static void start_signals(long hz)
{
	stack_t other;
	struct sigaction act;
	struct sigevent event;
	struct itimerspec often;
	timer_t timer;

	memset(&other, 0, sizeof(other));
	memset(&act, 0, sizeof(act));
	memset(&event, 0, sizeof(event));
	memset(&often, 0, sizeof(often));
	other.ss_size = 1 << 18;
	other.ss_sp = malloc(other.ss_size);
	sigaltstack(&other, NULL);
	act.sa_handler = on_signal;
	act.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGUSR1, &act, NULL);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGUSR1;
	often.it_interval.tv_nsec = often.it_value.tv_nsec = 1000000000 / hz;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &often, NULL))
		perror("timer");
}

/* Of the CPU: a busy machine takes no samples away. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double deadline;
static char *modules[2];

static void *run(void *arg)
{
	unsigned x = (unsigned)(size_t)arg, round = 0;

	while (now() < deadline) {
		void *m = NULL;

		if (modules[0]) {
			m = dlopen(modules[round & 1], RTLD_NOW);
			if (!m) {
				fprintf(stderr, "%s\\n", dlerror());
				exit(1);
			}
			*(void **)&module_call = dlsym(m, "m0");
		}
		for (int i = 0; i < (modules[0] ? 2 : 8); i++) {
			work = i & 1 ? 0 : 50;
			x = t0(x);
			HIDE(&x);
		}
		if (m) {
			module_call = NULL;
			dlclose(m);
		}
		round++;
	}
	return (void *)(size_t)x;
}

/* SECONDS-OF-CPU-TIME [-t THREADS] [-s SIGNALS-A-SECOND] [-m MODULE MODULE] */
int main(int argc, char **argv)
{
	pthread_t thread[64];
	int nr_threads = 0;

	deadline = now() + (argc > 1 ? atof(argv[1]) : 1);
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "-t") && i + 1 < argc)
			nr_threads = atoi(argv[++i]) & 63;
		else if (!strcmp(argv[i], "-s") && i + 1 < argc)
			start_signals(atol(argv[++i]));
		else if (!strcmp(argv[i], "-m") && i + 2 < argc) {
			modules[0] = argv[++i];
			modules[1] = argv[++i];
		}
	}
	for (int i = 0; i < nr_threads; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	if (!nr_threads)
		run(NULL);
	for (int i = 0; i < nr_threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
"""

MODULE = """/* made by tests/live/truth_tree.py */
#include <alloca.h>
#include <string.h>

#define HIDE(p) __asm__ volatile("" : : "r"(p) : "memory")

static __attribute__((noinline)) unsigned m2(unsigned x, unsigned (*back)(unsigned))
{
	volatile char b[PAD];

	b[0] = (char)x;
	for (unsigned i = 0; i < 500; i++)
		x = x * 3 + (unsigned)b[0];
	return back(x) + (unsigned)b[0];
}

static __attribute__((noinline)) unsigned m1(unsigned x, unsigned (*back)(unsigned))
{
	char *b = (char *)alloca((x & 63) + PAD);

	memset(b, 1, 16);
	HIDE(b);
	return m2(x, back) + (unsigned)b[3];
}

unsigned m0(unsigned x, unsigned (*back)(unsigned))
{
	return m1(x + PAD, back) * 5;
}
"""


class Node:
    def __init__(self, nr, parent, kind, prefix):
        self.nr, self.parent, self.kind, self.prefix = nr, parent, kind, prefix
        self.children = []
        self.depth = parent.depth + 1 if parent else 0
        self.edge = "direct"  # how the caller gets here

    @property
    def name(self):
        return f"{self.prefix}{self.nr}"


def make_tree(seed, is_cxx, has_callbacks):
    rng = random.Random(seed)
    nodes = [Node(0, None, "plain", "t")]
    for nr in range(1, NR_NODES):
        back = 1 if rng.random() < 0.8 else rng.randrange(2, 12)
        parent = nodes[max(0, nr - back)]
        if parent.depth >= MAX_DEPTH - 1:
            parent = rng.choice([n for n in nodes if n.depth < MAX_DEPTH - 20])
        node = Node(nr, parent, rng.choice(PLAIN_KINDS), "t")
        roll = rng.random()
        if roll < 0.04 and has_callbacks:
            node.edge, node.kind = "qsort", "plain"
        elif roll < 0.07:
            node.edge, node.kind = "module", "plain"
        elif roll < 0.14 and is_cxx:
            node.edge = "throws"
        parent.children.append(node)
        nodes.append(node)
    signal = [Node(0, None, "buffer", "s")]
    for nr in range(1, NR_SIGNAL):
        node = Node(nr, signal[max(0, nr - rng.randrange(1, 3))], rng.choice(PLAIN_KINDS), "s")
        node.parent.children.append(node)
        signal.append(node)
    return nodes, signal


def call_of(child):
    if child.edge == "qsort":
        return f"\tqsort(pair, 2, sizeof(pair[0]), compare{child.nr});\n\tx += pair[0];\n"
    if child.edge == "module":
        return f"\tx += module_call ? module_call(x, {child.name}) : {child.name}(x);\n"
    if child.kind == "wide":
        return f"\tx += {child.name}(x, 1, 2, x, 4, 5, x, x, x + 8);\n"
    if child.kind == "varargs":
        return f"\tx += {child.name}(x, 2, x, 3.0 + x);\n"
    if child.kind == "double":
        return f"\tx += (unsigned){child.name}(x, 1.5);\n"
    if child.kind == "pointer":
        return f"\t{{\n\t\tunsigned (*volatile p)(unsigned) = {child.name};\n\n\t\tx += p(x);\n\t}}\n"
    return f"\tx += {child.name}(x);\n"


def signature(n):
    if n.kind == "wide":
        return f"NODE {n.name}(unsigned x, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g, unsigned h)"
    if n.kind == "varargs":
        return f"NODE {n.name}(unsigned x, int nr, ...)"
    if n.kind == "double":
        return f"__attribute__((noinline, noclone)) double {n.name}(unsigned x, double y)"
    return f"NODE {n.name}(unsigned x)"


def before_calls(n, rng):
    k = n.kind
    if k == "buffer":
        size = rng.randrange(8, 700)
        return f"\tchar b[{size}];\n\tmemset(b, (int)x, sizeof(b));\n\tHIDE(b);\n", f"\tx += (unsigned char)b[{size - 1}];\n"
    if k == "alloca":
        return f"\tchar *b = (char *)alloca((x & {rng.choice([15, 127, 1023])}) + 8 + (unsigned)zero);\n\tb[1] = (char)x;\n\tHIDE(b);\n", \
            "\tx += (unsigned char)b[1];\n"
    if k == "realigned":
        return f"\tunsigned b[16] __attribute__((aligned({rng.choice([32, 64, 128])})));\n\tb[1] = x;\n\tHIDE(b);\n", "\tx += b[1];\n"
    if k == "large":
        size = rng.randrange(4200, 9000)
        return f"\tchar b[{size}];\n\tb[x & 4095] = 1;\n\tHIDE(b);\n", "\tx += (unsigned char)b[7];\n"
    if k == "pressure":
        names = "abcdefgh"
        make = "".join(f"\tunsigned {v} = x * {rng.randrange(3, 999)}u + (unsigned)zero;\n" for v in names)
        hide = "".join(f"\t__asm__ volatile(\"\" : \"+r\"({v}));\n" for v in names[:4])
        return make + hide, "\tx += " + " ^ ".join(names) + ";\n"
    if k == "wide":
        return "", "\tx += a ^ b ^ c ^ d ^ e ^ f ^ g ^ h;\n"
    if k == "varargs":
        return "\tva_list list;\n\tva_start(list, nr);\n\tx += va_arg(list, unsigned);\n\tva_end(list);\n", ""
    if k == "double":
        return "\ty = y * 1.25 + x;\n", "\tx += (unsigned)y & 7;\n"
    if k == "calls":
        what = rng.choice(["x += (unsigned)syscall(SYS_getppid);",
                           "{\n\t\tstruct timespec t;\n\n\t\tclock_gettime(CLOCK_MONOTONIC, &t);\n\t\tx += (unsigned)t.tv_nsec;\n\t}",
                           "{\n\t\tvoid *m = malloc(x & 255);\n\n\t\tHIDE(m);\n\t\tfree(m);\n\t}"])
        return f"\t{what}\n", ""
    return "", ""


def body_of(n, rng):
    has_qsort = any(c.edge == "qsort" for c in n.children)
    before, after = before_calls(n, rng)
    out = signature(n) + "\n{\n"
    if has_qsort:
        out += "\tunsigned pair[2] = {x | 1, x};\n"
    out += before + f"\tx = spin(x ^ {n.nr * 7919 + 13}u);\n"
    for c in n.children:
        if c.edge == "throws":
            out += "\ttry {\n\t" + call_of(c) + f"\t\tx ^= {c.nr}u;\n\t}} catch (unsigned v) {{\n\t\tx += v;\n\t}}\n"
        else:
            out += call_of(c)
    out += after + "\tx = spin(x);\n"
    if n.edge == "throws":
        out += f"\tif (x & 1)\n\t\tthrow (unsigned)(x ^ {n.nr}u);\n"
    value = f"x * 3 + {n.nr}u"
    return out + f"\treturn {'(double)(' + value + ')' if n.kind == 'double' else value};\n}}\n"


def write_program(path, seed, is_cxx, has_callbacks=True):
    """has_callbacks: some functions are called by qsort(), which has no frame pointers.

    @return the tree as {function: (its caller or None, how)}"""
    nodes, signal = make_tree(seed, is_cxx, has_callbacks)
    rng = random.Random(seed + 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(HEAD)
        if is_cxx:
            f.write('extern "C" {\n')
        for n in nodes + signal:
            f.write(signature(n) + ";\n")
        for n in nodes:
            if n.edge == "qsort":
                f.write(f"static __attribute__((noinline)) int compare{n.nr}(const void *a, const void *b)\n{{\n"
                        f"\tunsigned x = {n.name}(*(const unsigned *)a + *(const unsigned *)b);\n\n\treturn x & 1 ? 1 : -1;\n}}\n")
        for n in nodes + signal:
            f.write("\n" + body_of(n, rng))
        f.write(MAIN + ("}\n" if is_cxx else ""))
    with open(os.path.join(os.path.dirname(os.path.abspath(path)), "module.c"), "w", encoding="utf-8") as f:
        f.write(MODULE)
    return {n.name: (n.parent.name if n.parent else None, n.edge) for n in nodes + signal}


TRUTH_NAME = re.compile(r"^([ts]\d+)(?:[.(].*)?$")
# What may stand between a function and its caller, by the way the one gets to the other.
BETWEEN = {"direct": None, "throws": None, "qsort": re.compile(r"libc|compare\d+"), "module": re.compile(r"module|m[012]\b")}


class Verdict:
    """right: from the leaf to the outermost frame; short: right as far as it goes; wrong: something that never was."""

    def __init__(self, kind, why=""):
        self.kind, self.why = kind, why


def judge(tree, frames):
    """frames: user frames (function or None, binary), innermost first, of one sample."""
    marks = [(i, m.group(1)) for i, (sym, _) in enumerate(frames) if sym and (m := TRUTH_NAME.match(sym))]
    if not marks:
        return Verdict("outside")
    for (i, name), (j, caller) in zip(marks, marks[1:]):
        parent, edge = tree.get(name, (None, "direct"))
        between = [f"{sym or '?'} {os.path.basename(dso or '?')}" for sym, dso in frames[i + 1:j]]
        if name == "s0":
            ok = any("libc" in b or "on_signal" in b for b in between)
        elif caller != parent:
            return Verdict("wrong", f"{name} was called by {parent}, not {caller}")
        elif BETWEEN[edge] is None:
            ok = not between
        else:
            ok = all(BETWEEN[edge].search(b) for b in between)
        if not ok:
            return Verdict("wrong", f"between {name} and {caller}: {between}")
    last, name = marks[-1]
    rest = [sym for sym, _ in frames[last + 1:]]
    if name == "s0":  # the signal came while no function of the tree ran: in run(), in what that calls, at the exit
        if rest and rest[0] != "on_signal":
            return Verdict("wrong", f"s0 was called by on_signal, not {rest[0]}")
    elif tree[name][0] is not None:
        if tree[name][1] == "direct" and rest:
            return Verdict("wrong", f"{name} was called by {tree[name][0]}, not {rest[0]}")
        return Verdict("short", f"ends in {name}")
    elif rest and rest[0] not in ("run", "main"):  # run() may be inlined into main()
        return Verdict("wrong", f"t0 was called by {rest[0]}")
    if is_outermost(rest):
        return Verdict("right")
    return Verdict("short", f"ends in {rest[-1] if rest else name}")


def is_outermost(rest):
    """A thread's last frames are run, start_thread, clone3."""
    return "_start" in rest or "main" not in rest and "run" in rest[:-2]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write_program(name, 1, name.endswith((".cc", ".cpp")))
