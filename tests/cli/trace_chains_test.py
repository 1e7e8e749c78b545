#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Call chains made of the trace of real programs, which leave functions otherwise than by returns: what each function was called by, as the
source has it. A chain may begin with a mark that it is cut, and never has a caller that is none.

Usage: trace_chains_test.py CLEW"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap import check, done, skip_all  # noqa: E402

clew = os.path.abspath(sys.argv[1])
os.chdir(tempfile.mkdtemp())
NOINLINE = "#define F __attribute__((noinline))\nvolatile int x;\n"

# Name: compiler and options; source; functions whose callers are given, as "function: callers, the innermost last", each in any number of samples;
# a chain begins anywhere in it, if it is marked as cut. "!": it must be whole.
PROGRAMS = {
    "longjmp": (["gcc", "-O1"], r"""
#include <setjmp.h>
static jmp_buf b; F void leaf(void){ x++; longjmp(b,1); } F void mid(void){ leaf(); x++; } F void after(void){ x++; }
int main(){ for(volatile int i=0;i<3;i++) { if(!setjmp(b)) mid(); after(); } return 0; }""", {"!after": ["main"], "!leaf": ["main;mid"]}),
    "recursion": (["gcc", "-O1"], r"""
#include <setjmp.h>
static jmp_buf b; F void after(void){ x++; } F void rec(int n){ if(n==2 && setjmp(b)) { after(); return; } if(n==0) longjmp(b,1); rec(n-1); x++; }
int main(){ rec(3); after(); return 0; }""", {"after": ["main;rec;rec", "main"]}),
    "exception": (["g++", "-O2"], r"""
struct D { F ~D(){ x++; } }; F void thrower(int n){ x++; if(!n) throw 1; thrower(n-1); x++; } F void mid(){ D d; thrower(2); x++; }
F void after(){ x++; } F void run(){ try { mid(); } catch(int) { after(); } after(); x++; } int main(){ run(); run(); after(); x++; return 0; }""",
                  {"!after": ["main;run", "main"], "D::~D": ["main;run;mid"]}),
    # Which of the three is gone to is unknown, but not what called the first one.
    "recursive-exception": (["g++", "-O2"], r"""
struct D { F ~D(){ x++; } }; F void thrower(int n){ D d; x++; if(!n) throw 1; thrower(n-1); x++; } F void mid(){ D d; thrower(2); x++; }
F void after(){ x++; } F void again(){ try { mid(); } catch(int) { after(); throw; } } F void run(){ try { again(); } catch(int) { after(); } after(); x++; }
int main(){ run(); run(); after(); x++; return 0; }""", {"!after": ["main;run;again", "main;run", "main"], "D::~D": ["main;run;again;mid", "main;run;again;mid;thrower"]}),
    # Its sigsetjmp() saves its caller's place, and returns a second time by itself.
    "musl": (["musl-gcc", "-O1"], r"""
#include <setjmp.h>
static sigjmp_buf b; F void leaf(void){ x++; siglongjmp(b,1); } F void mid(void){ leaf(); x++; } F void after(void){ x++; }
F void run(void){ if(!sigsetjmp(b,1)) mid(); after(); } int main(){ for(volatile int i=0;i<3;i++) { run(); after(); } return 0; }""",
             {"!after": ["main;run", "main"], "!leaf": ["main;run;mid"]}),
    "coroutines": (["gcc", "-O1"], r"""
#include <ucontext.h>
static ucontext_t m,a,b; static char sa[65536],sb[65536]; F void work_a(void){x++;} F void work_b(void){x++;} F void after(void){x++;}
F void yield(ucontext_t*f,ucontext_t*t){ swapcontext(f,t); after(); } F void deep_a(void){ work_a(); yield(&a,&b); work_a(); x++; }
F void deep_b(void){ work_b(); yield(&b,&a); work_b(); x++; } F void fa(void){ for(int i=0;i<3;i++) { deep_a(); x++; } swapcontext(&a,&m); }
F void fb(void){ for(;;) { deep_b(); x++; } }
int main(){ getcontext(&a); a.uc_stack.ss_sp=sa; a.uc_stack.ss_size=sizeof sa; makecontext(&a,fa,0);
 getcontext(&b); b.uc_stack.ss_sp=sb; b.uc_stack.ss_size=sizeof sb; makecontext(&b,fb,0); swapcontext(&m,&a); return 0; }""",
                   {"work_a": ["fa;deep_a"], "work_b": ["fb;deep_b"]}),
    "own-coroutines": (["gcc", "-O1"], r"""
#include <stdlib.h>
void *m,*a,*b; static char sa[65536],sb[65536]; void sw(void**from,void*to);
__asm__(".globl sw\n.type sw,@function\nsw: push %rbx; push %rbp; mov %rsp,(%rdi); mov %rsi,%rsp; pop %rbp; pop %rbx; ret\n.size sw,.-sw\n");
F void work_a(void){x++;} F void work_b(void){x++;} F void after(void){x++;} F void yield(void**f,void*t){ sw(f,t); after(); x++; }
F void deep_a(void){ work_a(); yield(&a,b); work_a(); x++; } F void deep_b(void){ work_b(); yield(&b,a); work_b(); x++; }
void fa(void){ for(int i=0;i<3;i++){ deep_a(); x++; } sw(&a,m); abort(); } void fb(void){ for(;;){ deep_b(); x++; } }
F void*make(char*s,void(*f)(void)){ void**p=(void**)(s+65536-64); p[2]=(void*)f; return p; }
int main(){ a=make(sa,fa); b=make(sb,fb); sw(&m,a); after(); return 0; }""", {"work_a": ["fa;deep_a"], "work_b": ["fb;deep_b"]}),
    "signals": (["gcc", "-O1"], r"""
#include <signal.h>
#include <unistd.h>
#include <sys/syscall.h>
F void inner(void){ x++; } F void second(int s){ inner(); x++; } F void first(int s){ __asm__ volatile("ud2\n"); inner(); x++; }
static void skip(int s, siginfo_t*i, void*u){ ((long long*)((char*)u+40))[16]+=2; inner(); x++; }
F void cause(void){ x++; syscall(SYS_kill,getpid(),SIGUSR1); x++; inner(); x++; }
int main(){ struct sigaction a={0}; a.sa_sigaction=skip; a.sa_flags=SA_SIGINFO; sigaction(SIGILL,&a,0); signal(SIGUSR1,first); signal(SIGUSR2,second);
 cause(); inner(); return 0; }""", {"!inner": ["main", "main;cause", "main;cause;syscall;first", "main;cause;syscall;first;skip"]}),
    "exec": (["gcc", "-O1"], r"""
#include <unistd.h>
F void second(void){x++;} F void go(char*me){ execl(me,me,"2",(char*)0); } F void outer(char*me){ go(me); x++; }
int main(int c,char**v){ if(c>1){ second(); return 0; } outer(v[0]); return 1; }""", {"!second": ["main"]}),
    # The child's trace begins in the middle of own(), which something called.
    "fork": (["gcc", "-O1"], r"""
F long own(void){ long r; __asm__ volatile("syscall" : "=a"(r) : "a"(57L) : "rcx", "r11", "memory"); x++; return r; }
F long run(void){ long r = own(); x++; return r; } int main(){ run(); return 0; }""", {"own": ["main;run"]}),
    "retpolines": (["gcc", "-O2", "-mindirect-branch=thunk"], r"""
typedef void (*fn)(void); F void h(void){x++;} F void g(void){x++; } fn volatile t[2]={h,g}; F void f(int i){ x++; t[i](); x++; } F void tail(int i){ x++; t[i](); }
int main(){ for(int i=0;i<4;i++){ f(i&1); tail(i&1);} return 0; }""", {"!h": ["main;f", "main"], "!g": ["main;f", "main"]}),
    "inline-retpolines": (["gcc", "-O2", "-mindirect-branch=thunk-inline"], r"""
typedef void (*fn)(void); F void h(void){x++;} F void g(void){x++; } fn volatile t[2]={h,g}; F void f(int i){ x++; t[i](); x++; }
int main(){ for(int i=0;i<4;i++) f(i&1); return 0; }""", {"!h": ["main;f"], "!g": ["main;f"]}),
}


def folded(name):
    p = subprocess.run([clew, "export", "-i", name + ".data", "--to", "collapsed", "--itrace=i1ig64"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return [line.rsplit(" ", 1)[0].split(";")[1:] for line in p.stdout.decode().splitlines()]


def judge(stacks, function, callers):
    """@return what is wrong, and which of the callers were found."""
    wrong, found = [], set()
    for s in stacks:
        if s[-1] != function.lstrip("!"):
            continue
        is_cut, frames = s[0].startswith("[cut: "), s[:-1]
        frames = frames[1:] if is_cut else frames
        frames = frames[frames.index("main"):] if "main" in frames else frames
        text = ";".join(frames)
        of = [c for c in callers if (c == text if not is_cut else not frames or c == text or c.endswith(";" + text))]
        found.update(of)
        if not of or (is_cut and function[0] == "!"):
            wrong.append(";".join(s))
    return wrong, found


if not shutil.which("gcc") or not shutil.which("g++"):
    skip_all("no compiler")
for name, (compiler, source, functions) in PROGRAMS.items():
    if not shutil.which(compiler[0]):
        print(f"# no {compiler[0]}")
        continue
    file = name + (".cc" if compiler[0] == "g++" else ".c")
    with open(file, "w", encoding="utf-8") as f:
        f.write(NOINLINE + source)
    p = subprocess.run([*compiler, "-w", "-g", "-static", "-o", name, file], stderr=subprocess.PIPE, check=False)
    if p.returncode:
        skip_all("cannot compile: " + p.stderr.decode()[:200])
    p = subprocess.run([clew, "record", "-e", "soft_pt//u", "-o", name + ".data", "--", "./" + name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if not os.path.exists(name + ".data"):
        skip_all("cannot record: " + p.stderr.decode()[:200])
    stacks = folded(name)
    for function, callers in functions.items():
        wrong, found = judge(stacks, function, callers)
        check(not wrong and found == set(callers), f"{name}: callers of {function.lstrip('!')}", [wrong[:5], sorted(set(callers) - found)])
    if "retpolines" in name:
        text = subprocess.run([clew, "script", "-i", name + ".data", "--call-trace", "-F", "-dso"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout.decode()
        check(len(re.findall(r"\sh\s*$", text, re.M)) == 2 and len(re.findall(r"\sg\s*$", text, re.M)) == 2, f"{name}: --call-trace has the calls", text[-600:])
done()
