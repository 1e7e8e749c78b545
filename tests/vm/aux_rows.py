# SPDX-License-Identifier: LGPL-2.1-or-later
"""The rows of aux_vm.py: what is recorded from softaux, how softaux behaves, and what has to be true of the file. README.md explains the columns."""
import dataclasses

import aux_checks as c
import aux_pause_checks as p

KIB = 1024
# What every row of full mode is asked.
FULL = (c.has_trace, c.contiguous, c.records_fit, c.no_loss_unsaid)
ON, OFF = "syscalls:sys_enter_newuname", "syscalls:sys_enter_getppid"
SNAP_LEN = 16 * KIB


@dataclasses.dataclass
class Row:
    name: str
    module: str  # options of softaux.ko
    script: str  # of the machine's shell, in the row's own folder; $PMU: softaux's name
    checks: tuple
    todo: str = ""  # what is missing; the row's checks may fail
    limit: int = 120  # seconds in there, on a busy host
    aux_bytes: int = 0  # of the AUX area, where a check needs it
    least: int = 1  # intervals
    scope: str = "task-cpu"  # of the AUX events: aux_checks.key_of()
    sentences: dict = dataclasses.field(default_factory=dict)
    is_short: bool = False  # of the short form
    restarts: int = 0  # times that a new event continues a buffer
    needs_perf: bool = False  # in the machine
    not_on: dict = dataclasses.field(default_factory=dict)  # {architecture: why}


def record(options, command="load spin 300", out="a.data"):
    return f"clew record {options} -o {out} -- {command} 2> err\n"


def start(options, command):
    """Returns as soon as it records; $p."""
    return f"clew record {options} -o a.data -- {command} 2> err &\np=$!\nbegan\n"


def cases(*lines):
    """Of the errno table: each (name, options, sentence) is a recording that is refused."""
    script = "".join(f"echo CASE {name} >> said; clew record {options} -o x.data -- true >> said 2>&1; echo status $? >> said\n" for name, options, _ in lines)
    return script, {name: sentence for name, _, sentence in lines}


SOFT = "name=softaux"
# The command is ended by clew, with SIGTERM, when it has enough.
ENDED_BY_US = "[ $status = 0 ] || [ $status = 143 ]\n"
PT_IS_X86 = {"arm64": "Intel PT is a PMU of x86"}

FULL_ROWS = [
    Row("full", f"{SOFT} period_us=200 burst=8", record("-e $PMU// -m 512K,1M"), (*FULL, c.no_gaps, c.no_lost, c.perf_agrees), is_short=True),
    Row("full-cpus", f"{SOFT} period_us=500", record("-a -e $PMU// -m 512K,1M"), (*FULL, c.no_gaps, c.perf_agrees)),
    Row("full-thread", f"{SOFT} period_us=200 burst=8", record("--per-thread -e $PMU// -m 512K,1M"), (*FULL, c.no_gaps, c.perf_agrees)),
    Row("full-straddle", f"{SOFT} period_us=200 stride=72", record("-e $PMU// -m 512K,64K"), (*FULL, c.perf_agrees)),
    Row("full-lost-records", f"{SOFT} period_us=200 burst=8", record("-e $PMU// -m 1,1M", "load spin 400 4"), (c.has_trace, c.contiguous, c.no_loss_unsaid)),
    Row("full-forks", f"{SOFT} period_us=200", record("-e $PMU// -m 512K,1M", "load fork 40"), (*FULL, c.has_orphans, c.perf_agrees)),
    Row("full-load", f"{SOFT} period_us=100 burst=32", "for n in 1 2 3 4; do load spin 4000 & done\n" + record("-e $PMU// -m 512K,4M", "load spin 600 3"),
        (*FULL, c.perf_agrees)),
    # Nothing fills an area here, and nothing wakes the reader: the traces of what sleeps are read by time.
    Row("full-doze", f"{SOFT} period_us=200", record("-e $PMU// -m 512K,1M", "load doze 1500"), (*FULL, c.no_gaps, c.read_by_time)),
    Row("full-flags", f"{SOFT} period_us=500 end_flags=0x11c", record("-v -e $PMU// -m 512K,1M", "load doze 200"), (c.has_trace, c.contiguous, c.keeps_flags, c.perf_agrees)),
    Row("full-tasks", f"{SOFT} period_us=500", """load doze 100000 & a=$!
load doze 100000 & b=$!
clew record --per-thread -p $a,$b -e $PMU// -m 512K,256K -o a.data 2> err & p=$!
until [ -s a.data ] && [ $(stat -c %s a.data) -gt 30000 ]; do usleep 20000; done
kill $a
size=$(stat -c %s a.data)
until [ $(stat -c %s a.data) -gt $((size + 20000)) ]; do usleep 20000; done
kill $b
wait $p || exit 1
echo $a $b > tasks
""", (*FULL, c.no_gaps, c.second_goes_on)),
    Row("full-pipe", "name=arm_spe_0 period_us=500 burst=8", """clew record -o - -e $PMU// -m 512K,64K -- load spin 400 2> err | tee a.data | clew report --stats -i - > grown
""", (*FULL, c.grows_as_it_is, c.perf_agrees)),
    Row("set-user-id", f"{SOFT} period_us=500", """echo 1 > /proc/sys/kernel/perf_event_paranoid
chmod 777 .
cp /bin/load other
chmod 4755 other
load as 1000 clew record -e $PMU//u -m 64K,64K -o a.data -- sh -c 'load spin 100; exec ./other spin 200' 2> err
""", (c.has_trace, c.contiguous, c.no_loss_unsaid, c.is_readable)),
    Row("slow-disk", f"{SOFT} period_us=100 burst=64", f"""mkfifo pipe
clew record -e $PMU// -m 512K,64K -o - -- load spin 60000 > pipe 2> err & p=$!
exec 3< pipe
began
usleep 500000
> a.data
until [ $(stat -c %s a.data) -gt 500000 ]; do dd bs=65536 count=1 <&3 >> a.data 2> /dev/null; usleep 20000; done
kill -INT $p
cat <&3 >> a.data
wait $p
status=$?
{ENDED_BY_US}""", (c.has_trace, c.contiguous, c.no_loss_unsaid, c.has_gaps)),
    Row("full-disk", f"{SOFT} period_us=1000 burst=64", """mkdir disk
mount -t tmpfs -o size=1m disk disk
clew record -e $PMU// -m 512K,256K -o disk/a.data -- load spin 3000 2> err
echo $? > ended
cp disk/a.data .
grep -qi 'space' err
""", (c.has_trace, c.contiguous, c.has_sideband, c.is_readable)),
    Row("killed", f"{SOFT} period_us=200 burst=8", start("-e $PMU// -m 512K,64K", "load spin 2500") + """sleep 1
kill -9 $p
wait $p
[ $? = 137 ]
""", (c.has_trace, c.contiguous, c.is_readable)),
]


# 4.4: task and CPU-wide, on CPU 0 and on another.
RESTART_CHECKS = (c.has_trace, c.contiguous, c.no_loss_unsaid, c.has_gaps, c.ran_on, c.restarts_each_time, c.sums_gaps)


def restart(name, options, command):
    """The reader stands still until the buffer has been full for long."""
    return Row(name, f"{SOFT} period_us=100 burst=16", start(f"{options} -e $PMU// -m 512K,64K", command) +
               """for n in 1 2 3; do
    size=$(stat -c %s a.data)
    kill -STOP $p
    usleep 200000
    now >> stops
    kill -CONT $p
    until [ $(stat -c %s a.data) -gt $((size + 2 * 65536)) ]; do usleep 20000; done
done
kill -INT $p
wait $p
status=$?
""" + ENDED_BY_US, RESTART_CHECKS)


RESTART_ROWS = [
    restart("restart-task-0", "", "taskset 1 load spin 60000"),
    restart("restart-task-1", "", "taskset 2 load spin 60000"),
    restart("restart-cpu-0", "-C 0", "taskset 1 load spin 60000"),
    restart("restart-cpu-1", "-C 1", "taskset 2 load spin 60000"),
]


def snapshots(name, module, target, how, nr=1000, size=0, checks=()):
    """At random times. Signals that come while one is pending are one to the kernel, so as many are sent as it takes."""
    kick = {"signal": "load kick $p 1000000 2", "control": f"load ask ctl acks {nr} 2"}[how]
    control = "--control fifo:ctl,acks" if how == "control" else f"--snapshots={nr}"
    return Row(name, f"{SOFT} period_us=100 burst=8 {module}", "mkfifo ctl acks\n" + start(f"-S{size or ''} {control} {target} -e $PMU// -m 512K,16K", "load doze 600000 500") +
               f"{kick} &\nk=$!\nwait $p\nstatus=$?\nkill $k\necho {nr} > asked\n{ENDED_BY_US}", (c.has_trace, c.windows, c.as_many_as_asked, c.lists_windows, *checks, c.perf_agrees),
               limit=300, aux_bytes=size or SNAP_LEN)


def at_exit(name, command, end):
    return f"""rm -f running
clew record -Se -e $PMU// -m 512K,16K -o {name} -- {command} 2> {name[:-5]}.err & p=$!
began
usleep 200000
{end}
wait $p
echo {name} $? >> statuses
"""


SNAPSHOT_ROWS = [
    snapshots("snapshot-counter", "head_mode=1", "--per-thread", "signal"),
    snapshots("snapshot-offset", "head_mode=0", "--per-thread", "control"),
    snapshots("snapshot-counter-72", "head_mode=1 stride=72", "--per-thread", "control"),
    snapshots("snapshot-offset-72", "head_mode=0 stride=72", "--per-thread", "signal"),
    snapshots("snapshot-cpus", "head_mode=0 stride=72", "-a", "signal", nr=100, checks=(c.held_together,)),
    snapshots("snapshot-size", "head_mode=1", "", "control", nr=50, size=8192, checks=(c.newest_of_size,)),
    Row("snapshot-burst", f"{SOFT} period_us=200", "mkfifo ctl acks\n" + start("-S --control fifo:ctl,acks -e $PMU// -m 512K,16K", "load spin 600000") + f"""load kick $p 100 0
until grep -q 'snapshot 1:' err; do usleep 20000; done
load burst ctl acks 100
wait $p
status=$?
echo 101 > asked
{ENDED_BY_US}""", (c.windows, c.as_many_as_asked), aux_bytes=SNAP_LEN),
    Row("snapshot-exit", f"{SOFT} period_us=200", at_exit("int.data", "load spin 60000", "kill -INT $p") + at_exit("term.data", "load spin 60000", "kill -TERM $p") +
        at_exit("killed.data", "load spin 60000", "kill -9 $(pidof load)"), (c.one_window_each,), aux_bytes=SNAP_LEN),
]


def pause(name, events, command, checks=(), module="period_us=50 burst=1", least=20, todo="", scope="task-cpu", more="", not_on=None):
    script = f"clew record {more} -e $PMU/aux-action=start-paused/ {events} -m 2M,1M -o a.data -- {command} 2> err\n"
    return Row(name, f"{SOFT} {module}", script, (c.has_trace, c.contiguous, p.only_between, p.lists_intervals, p.first_hit_acts, *checks, c.perf_agrees), todo=todo, least=least, scope=scope,
               not_on=not_on or {})


# Three files by request, and one at the end.
SWITCHES = f"""for n in 1 2 3; do
    nr=$(ls a.data.* 2> /dev/null | wc -l)
    usleep 200000
    kill -USR2 $p
    until [ $(ls a.data.* 2> /dev/null | wc -l) -gt $nr ]; do usleep 20000; done
done
echo 3 > asked
kill -TERM $p
wait $p
status=$?
{ENDED_BY_US}"""

FILE_ROWS = [
    Row("switch-output", f"{SOFT} period_us=200", start("--switch-output -e $PMU// -m 512K,256K", "load spin 60000") + SWITCHES, (c.contiguous_across, c.perf_agrees_on_each)),
    Row("switch-snapshot", f"{SOFT} period_us=200", start("-S --switch-output -e $PMU// -m 512K,16K", "load spin 60000") + SWITCHES,
        (c.windows_across, c.perf_agrees_on_each), aux_bytes=SNAP_LEN),
    Row("compressed", f"{SOFT} period_us=200 burst=8", record("-z -e $PMU// -e task-clock -m 512K,1M"), (c.has_trace, c.contiguous, c.perf_agrees)),
    Row("compressed-snapshot", f"{SOFT} period_us=200", record("-z -Se -e $PMU// -e task-clock -m 512K,16K"), (c.windows, c.perf_agrees), aux_bytes=SNAP_LEN),
    Row("aux-sample", f"{SOFT} period_us=200", record('--aux-sample=1024 -e "{$PMU//,task-clock/period=2000000/}" -m 512K,64K', "load spin 1000"),
        (c.samples_hold_trace, c.perf_agrees), aux_bytes=1024),
    Row("trigger", f"{SOFT} period_us=200", f"""clew record -S --trigger {OFF} -e $PMU// -m 512K,16K -o a.data -- load pairs 50 2> err
echo 50 > asked
""", (c.has_trace, c.windows, c.as_many_as_asked, c.perf_agrees), aux_bytes=SNAP_LEN),
    Row("trigger-function", f"{SOFT} period_us=200", """clew record -S --trigger mark_off -e $PMU// -m 512K,16K -o a.data -- load marks 50 2> err
echo 50 > asked
""", (c.has_trace, c.windows, c.as_many_as_asked), aux_bytes=SNAP_LEN),
]

PAUSE_ROWS = [
    pause("pause-syscall", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "load pairs 100"),
    pause("pause-thread", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "load pairs 100", more="--per-thread", scope="task"),
    pause("pause-cpus", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "load pairs 100", more="-a", scope="cpu"),
    pause("pause-sync", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "load pairs 100", module="period_us=50 burst=1 pause_sync=1"),
    pause("pause-inherit", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "sh -c 'load fork 50 & exec load pairs 200'", (p.only_its_task,)),
    # Parent and child on one CPU: the kernel may swap their contexts.
    pause("pause-forked", f"-e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/", "taskset 1 load forked 100", (p.only_its_task,)),
    pause("pause-uprobe", "-e uprobe:/bin/load:mark_on/aux-action=resume/ -e uprobe:/bin/load:mark_off/aux-action=pause/", "load marks 100"),
    pause("pause-breakpoint", "-e mem:@mark_on@:x/aux-action=resume/ -e mem:@mark_off@:x/aux-action=pause/", "load marks 100"),
    pause("pause-counter", f"-e {ON}/aux-action=resume/ -e task-clock/aux-action=pause,period=2000000/", "load pairs 200", (p.throttled_said,)),
    pause("pause-cycles", f"-e {ON}/aux-action=resume/ -e cycles/aux-action=pause,period=20000000/", "load pairs 400 1000", (p.throttled_said,), least=5,
        not_on={"amd64": "the emulated CPU has no counters"}),
    Row("pause-starts", f"{SOFT} period_us=50 burst=1", f"""mkfifo ctl acks
clew record --per-thread -D -1 --control fifo:ctl,acks -e $PMU/aux-action=start-paused/ -e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/ -m 2M,1M -o a.data -- taskset 1 load starts ctl acks 1000 2> err
echo 1000 > asked
""", (c.has_trace, c.contiguous, p.only_between, p.each_start_acts), scope="task"),
    Row("pause-killed", f"{SOFT} period_us=50 burst=1", start(
        f"-e $PMU/aux-action=start-paused/ -e {ON}/aux-action=resume/ -e {OFF}/aux-action=pause/ -m 2M,1M", "load pairs 60000") + """sleep 2
kill -9 $p
wait $p
[ $? = 137 ]
""", (c.has_trace, c.is_readable)),
    Row("pause-switched", f"{SOFT} period_us=50 burst=1", "mkfifo ctl acks\n" +
        start(f"--per-thread --control fifo:ctl,acks -e $PMU/aux-action=start-paused/ -e {ON}/aux-action=resume,name=on/ -e {OFF}/aux-action=pause/ -m 2M,1M", "load pairs 60000 1000") +
        f"""exec 3<>ctl 4<>acks
sleep 1
echo disable on >&3; read x <&4
off=$(now)
sleep 1
on=$(now)
echo enable on >&3; read x <&4
echo $off $on > switched
sleep 1
echo stop >&3; read x <&4
wait $p
status=$?
{ENDED_BY_US}""", (c.has_trace, c.contiguous, p.only_between, p.switched_at_run_time, c.perf_agrees), scope="task"),
    Row("trace-between", f"{SOFT} period_us=50 burst=1", record(f"--trace-between {ON},{OFF} -e $PMU// -m 2M,1M", "load pairs 100"),
        (c.has_trace, c.contiguous, p.only_between, p.first_hit_acts), least=90),
]

REFUSALS, SENTENCES = cases(
    ("start-paused-alone", "-e task-clock/aux-action=start-paused/", "for a hardware trace|only a trace"),
    ("pause-without-leader", f"-e {ON}/aux-action=pause/", "has none|before it"),
    ("pause-under-counter", f"-e '{{task-clock,{ON}/aux-action=pause/}}'", "leads the group cannot be paused|has no trace|before it"),
    ("pmu-cannot-pause", "-e ${PMU}_np/aux-action=start-paused/", "cannot (be )?pause"),
    ("trigger-under-np", f"-e ${{PMU}}_np// -e {ON}/aux-action=pause/", "cannot (be )?pause"),
    ("trigger-of-no-period", f"-e $PMU// -e {ON}/aux-action=pause,period=0/", "period= is at least 1"),
    ("trigger-dummy", "-e $PMU// -e dummy/aux-action=pause/", "never"),
    ("trigger-pinned", f"-e $PMU// -e {ON}/aux-action=pause/D", "neither pinned"),
    ("trigger-exclusive", f"-e $PMU// -e {ON}/aux-action=pause/e", "nor exclusive"),
    ("trigger-inherit", f"-e $PMU// -e {ON}/aux-action=pause,no-inherit/", "as much inherited as the trace"),
    ("trigger-pauses-and-resumes", f"-e $PMU// -e {ON}/aux-action=pause+resume/", "start-paused, pause or resume"),
    ("trace-pauses", "-e $PMU/aux-action=pause/", "not for the trace itself"),
    ("sample-on-trace", "-e $PMU/aux-sample-size=64/", "not for the trace itself"),
    ("sample-without-leader", f"-e {ON}/aux-sample-size=1024/", "group led by a trace"),
    ("sample-of-none", f"-e ${{PMU}}_np// -e {ON}/aux-sample-size=1024/", "sampled"),
    ("member-of-own-pmu", '-e "{$PMU//,$PMU//}"', "leads its group|one (trace|event) of"),
    ("two-pmus", "-e $PMU// -e ${PMU}_np//", "traces of two PMUs"),
    ("thread-inherits", "--per-thread -e $PMU/inherit/", "threads that inherit it"),
    ("second-of-pmu", "-e $PMU// -e $PMU//", "one (trace|event) of"),
    ("cpu-impossible", "-C 4000 -e $PMU//", "CPU 4000 is not online"),
    ("too-much-memory", "-m 512K,4G -e $PMU//", "size up to"),
    ("task-gone", "-p 99999 -e $PMU//", "99999"),
    ("aux-output", f"-e $PMU// -e {ON}/aux-output/", "cannot write into a trace"),
    ("aux-output-pauses", f"-e $PMU// -e {ON}/aux-output,aux-action=pause/", "exclude each other"),
    ("aux-output-samples", f"-e $PMU// -e {ON}/aux-output,aux-sample-size=64/", "cannot write into a trace"),
)
PT_REFUSALS, PT_SENTENCES = cases(
    ("clock", "-k monotonic -e $PMU//", "no clock chosen by -k"),
    ("filter-no-size", "-e $PMU//u --filter 'filter 0x1000@/bin/load'", "needs a size"),
    ("filter-size-0", "-e $PMU//u --filter 'filter 0x1000/0@/bin/load'", "size 0"),
    ("filter-no-symbol", "-e $PMU//u --filter 'filter mark_none @ /bin/load'", "has no symbol 'mark_none'"),
    ("filter-folder", "-e $PMU//u --filter 'filter 0x1000/0x10@/bin'", "is not a program"),
    ("filter-no-file", "-e $PMU//u --filter 'filter 0x1000/0x10@/none'", "No such file"),
    ("filter-cpus", "-a -e $PMU//u --filter 'filter mark_on @ /bin/load'", "not of whole CPUs"),
    ("filter-none", "-e ${PMU}_np//u --filter 'filter mark_on @ /bin/load'", "has no address filters"),
    ("filter-too-many", "-e $PMU//u --filter 'filter 0x2000/1@/bin/load,filter 0x3000/1@/bin/load,filter 0x4000/1@/bin/load'", "2 address filters, these are 3"),
    ("filter-start", "-e $PMU//u --filter 'start mark_on @ /bin/load'", "ranges of addresses only"),
    ("filter-kernel", "-e $PMU//u --filter 'filter 0xffffffff81000000/0x10'", "kernel is not traced"),
    ("filter-empty", "-e $PMU//u --filter ''", "empty"),
)
NO_PMU_REFUSALS, NO_PMU_SENTENCES = cases(("trigger-of-no-pmu", "-e $PMU// -e instructions/aux-action=pause/", "no hardware counters"))


def case(name, command):
    return f"echo CASE {name} >> said; {command} >> said 2>&1; echo status $? >> said\n"


TRUE = "-o x.data -- true"
BUSY = f"""clew record -a -e $PMU// -o b.data -- load spin 60000 2> /dev/null &
p=$!
began
{case("busy", f"clew record -e $PMU// {TRUE}")}kill -TERM $p
wait $p
rm running
clew record -e $PMU// -o b.data -- load spin 60000 2> /dev/null &
p=$!
began
{case("busy-cpus", f"clew record -a -e $PMU// {TRUE}")}kill -TERM $p
wait $p
load hold $PMU &
h=$!
until [ -e holding ]; do usleep 20000; done
{case("busy-mapped", f"clew record -a -e $PMU// {TRUE}")}kill $h
echo 0 > /sys/devices/system/cpu/cpu1/online
{case("cpu-offline", f"clew record -C 1 -e $PMU// {TRUE}")}echo 1 > /sys/devices/system/cpu/cpu1/online
"""
BUSY_SENTENCES = {"busy": r"exclusive use, probably by clew \(process \d+\)", "busy-cpus": r"exclusive use, probably by clew \(process \d+\)",
                  "busy-mapped": "by another recording of it .* or a buffer of one that is not yet released", "cpu-offline": "CPU 1 is not online"}
UNPRIVILEGED = f"""load spin 60000 &
p=$!
echo 3 > /proc/sys/kernel/perf_event_paranoid
{case("paranoid", f"load as 1000 clew record -e $PMU//u {TRUE}")}echo 2 > /proc/sys/kernel/perf_event_paranoid
{case("all-cpus", f"load as 1000 clew record -a -e $PMU//u {TRUE}")}{case("others", f"load as 1000 clew record -p $p -e $PMU//u -o x.data")}
{case("kernel", f"load as 1000 clew record -e $PMU//k {TRUE}")}{case("memory", f"load as 1000 clew record -m 512K,64M -e $PMU//u {TRUE}")}kill $p
"""
UNPRIVILEGED_SENTENCES = {"paranoid": "perf_event_paranoid is 3, and it takes 2", "all-cpus": "all processes of a CPU .* is 2, and it takes 0",
                          "others": r"process \d+ belongs to user 0", "kernel": "what happens in the kernel .* is 2, and it takes 1",
                          "memory": "perf_event_mlock_kb .* ulimit -l"}
# What the kernel accepts, clew does.
ACCEPTED = "".join(case(name, f"clew record {options} -o {name}.data -- load spin 30") for name, options in (
    ("trigger-by-frequency", "-e $PMU// -e task-clock/aux-action=pause,freq=1000/"),
    ("pauses-and-samples", f"-e $PMU// -e {ON}/aux-action=pause,aux-sample-size=64/"),
    ("member-of-software", '-e "{task-clock,$PMU//}"'),
    ("area-of-no-power-of-two", "-m 512K,12K -e $PMU//"),
    ("one-page", "-m 64K,4K -e $PMU//"),
    ("start-paused-alone", "-e $PMU/aux-action=start-paused/"),
    ("pause-alone", f"-e $PMU// -e {ON}/aux-action=pause/")))

OTHER_ROWS = [
    Row("refusals", f"{SOFT}", REFUSALS + "true\n", (c.refused,), sentences=SENTENCES),
    Row("refusals-counter", f"{SOFT}", NO_PMU_REFUSALS + "true\n", (c.refused,), sentences=NO_PMU_SENTENCES, not_on={"arm64": "the emulated CPU has counters"}),
    Row("refusals-busy", f"{SOFT}", BUSY + "true\n", (c.refused,), sentences=BUSY_SENTENCES),
    Row("accepted", f"{SOFT}", ACCEPTED + "true\n", (c.accepted,)),
    Row("refusals-pt", "name=intel_pt pt=1", PT_REFUSALS + "true\n", (c.refused,), sentences=PT_SENTENCES, not_on=PT_IS_X86),
    Row("refusals-unprivileged", f"{SOFT}", UNPRIVILEGED + "true\n", (c.refused,), sentences=UNPRIVILEGED_SENTENCES),
    Row("unprivileged", f"{SOFT} period_us=500", """echo 1 > /proc/sys/kernel/perf_event_paranoid
chmod 777 .
ulimit -l 256
load as 1000 clew record -e $PMU//u -o a.data -- load spin 300 2> err
grep -q 'buffers for the trace are 256 KiB, and not 4096' err
""", (c.has_trace, c.contiguous, c.records_fit)),
    Row("shared-sink", f"{SOFT} period_us=500 shared=1", record("-a -e $PMU// -m 512K,1M", "load spin 500 2"), (c.has_trace, c.sink_is_whole, c.is_readable, c.perf_agrees)),
    Row("hotplug", f"{SOFT} period_us=500", start("-a -e $PMU// -m 512K,256K", "load spin 100000 2") + """sleep 1
off=$(now)
echo 0 > /sys/devices/system/cpu/cpu1/online
sleep 1
echo 1 > /sys/devices/system/cpu/cpu1/online
echo $off $(now) > offline
until grep -q 'came back' err; do usleep 50000; done
sleep 1
kill -TERM $p
wait $p
status=$?
""" + ENDED_BY_US + """
""", (c.has_trace, c.contiguous, c.both_sides_of_hotplug, c.perf_agrees), restarts=1),
    Row("spe", "name=arm_spe_0 period_us=500 burst=8", record("-e $PMU// -m 512K,1M"), (*FULL, c.perf_agrees), is_short=True),
    Row("pt", "name=intel_pt pt=1 period_us=500", record("-e $PMU//u -m 512K,1M"), (c.perf_agrees, c.perf_decodes), is_short=True, not_on=PT_IS_X86),
]

OTHER_ROWS.append(Row("filters", "name=intel_pt pt=1", """for filter in 'filter mark_on @ /bin/load' 'filter 0x1000/0x200@/bin/load'; do
    rm -f running
    clew record -e $PMU//u --filter "$filter" -o a.data -- load doze 60000 2>> err & p=$!
    began
    usleep 100000
    cat /sys/module/softaux/parameters/flt >> filters
    kill -TERM $p
    wait $p
done
echo $((@mark_on@)) $((0x401000)) > expected
""", (c.filters_are_set,), not_on=PT_IS_X86))
OTHER_ROWS.append(Row("perf", "name=intel_pt pt=1 period_us=500", record("-e $PMU//u -m 512K,1M") + """perf record -q -e $PMU//u -o perf.data -- load spin 300
perf report --stats -i perf.data > stats
perf report --stats -i a.data > stats.clew
""", (c.clew_reads_perfs, c.perf_in_there_agrees), needs_perf=True, not_on=PT_IS_X86))

ROWS = FULL_ROWS + RESTART_ROWS + SNAPSHOT_ROWS + FILE_ROWS + PAUSE_ROWS + OTHER_ROWS
