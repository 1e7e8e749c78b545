# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host: tasks that fork, exec, exit and move between CPUs at random, containers, threads of virtual CPUs, a CPU that goes and comes back."""
import heapq

from guest import Guest
from machine import KERNEL, USER, Machine, Segment, Stay, Task

SYSTEM_SERIALS = 8  # tasks up to this serial never exit
NR_SPACES_MAX = 8


class Host(Machine):
    """Runs from tick `begin` to `end`; `us`: ticks per microsecond. Options: cases.py."""

    def __init__(self, rng, opts, begin, end, us):
        super().__init__(rng, "host", opts["ncpu"], opts["pid_max"], opts["shift_root"])
        self.opts, self.begin, self.end, self.us = opts, begin, end, us
        self.guests, self.events = [], []  # events: (tick, cpu, kind, task)
        self.freed = []  # heap of (tick, inode, id, namespace)
        self.offline = self.hotplug_span()  # (cpu, from, to) or None
        self.idle = []
        self.populate()
        self.cpus = [[self.first_stay(c)] for c in range(self.nr_cpus)]
        self.run()

    # Who exists at the start.

    def populate(self):
        opts = self.opts
        self.add("user", comm="systemd", image=self.new_image())
        self.add("kthread", comm="kthreadd")
        for c in range(self.nr_cpus):
            self.pool.append(self.add("kthread", comm=f"ksoftirqd/{c}"))
            self.idle.append(self.new_idle())
        self.containers = [self.new_space(self.root, opts["shift_local"]) for _ in range(opts["namespaces"])]
        if self.containers and opts["nested"]:
            self.containers.append(self.new_space(self.containers[0], opts["shift_local"]))
        for space in self.containers:  # the first task of a namespace is its id 1
            self.add_process(space)
        for n in range(opts["processes"]):
            self.add_threads(self.home(n))
        for n in range(opts["guests"]):
            self.add_guest(n)
        for task in self.tasks:
            task.wake = self.begin + self.rng.randrange(200) * self.us

    def home(self, n):
        if n % 2:
            return self.rng.choice([self.root] + self.containers)
        return self.containers[0] if self.containers else self.root

    def add_threads(self, space):
        leader = self.add_process(space)
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            self.pool.append(self.add("user", space, leader, image=leader.image))

    def add_guest(self, number):
        guest = Guest(self, number)
        guest.vmm = self.add_process(comm=f"qemu-{number}")
        for v in range(guest.nr_cpus):
            thread = self.add("vcpu", leader=guest.vmm, comm=f"CPU {v}/KVM", image=guest.vmm.image)
            thread.guest, thread.vcpu = guest, v
            self.pool.append(thread)
        self.guests.append(guest)

    def hotplug_span(self):
        if not self.opts["hotplug"]:
            return None
        tenth = (self.end - self.begin) // 10
        return self.nr_cpus - 1, self.begin + 4 * tenth, self.begin + 6 * tenth

    # The scheduler.

    def first_stay(self, cpu):
        stay = Stay(self.idle[cpu], self.idle[cpu], True, [self.begin] * 7)
        self.plan(stay, cpu)
        return stay

    def run(self):
        heap = [(stays[0].end, c) for c, stays in enumerate(self.cpus)]
        heapq.heapify(heap)
        while heap:
            tick, cpu = heapq.heappop(heap)
            if tick < self.end:
                heapq.heappush(heap, (self.switch(tick, cpu).end, cpu))

    def steps(self, tick):
        out = [tick]
        for _ in range(6):
            out.append(out[-1] + self.rng.choice(self.opts["gaps"]))
        return out

    def is_offline(self, tick, cpu):
        return self.offline is not None and cpu == self.offline[0] and self.offline[1] <= tick < self.offline[2]

    def switch(self, tick, cpu):
        self.free_ids(tick)
        old = self.cpus[cpu][-1]
        previous, steps = old.task, self.steps(tick)
        previous.cpu = None
        if previous.exit is not None:
            self.bury(previous, steps[-1])
        following = self.choose(tick, cpu, previous)
        if following is previous:
            return self.idle_on(old, tick, cpu)
        following.cpu = cpu
        stay = Stay(following, previous, old.is_runnable, steps)
        self.plan(stay, cpu)
        self.cpus[cpu].append(stay)
        return stay

    def choose(self, tick, cpu, previous):
        """The next task: never the one that just ran, unless that is the idle task and there is no other."""
        if self.is_offline(tick, cpu):
            return self.idle[cpu]
        ready = [t for t in self.pool if t.cpu is None and t.wake <= tick and t.exit is None]
        task = self.rng.choice(ready) if ready and self.rng.random() > self.opts["idle"] else self.idle[cpu]
        if task is previous and task.kind != "idle":
            task = self.idle[cpu]
        others = [t for t in ready if t is not previous]
        return self.rng.choice(others) if task is previous and others else task

    def idle_on(self, stay, tick, cpu):
        """No other task: no switch."""
        to = tick + self.rng.randrange(20, 600) * self.us
        if self.is_offline(tick, cpu):
            to = self.offline[2] + self.rng.randrange(3, 30) * self.us
        stay.segments.append(Segment(stay.end, to, KERNEL))
        stay.end = to
        return stay

    def bury(self, task, entry):
        """Threads are released at once, processes by their parent, sometimes much later. Then their ids are free again."""
        if task in self.pool:
            self.pool.remove(task)
        at_once = task.leader is not task or self.rng.random() < 0.5
        task.released = task.exit + self.us // 2 if at_once else entry + self.rng.randrange(1, 3000) * self.us
        for space, number in task.ids.items():
            heapq.heappush(self.freed, (max(task.released, entry), space.inode, number, space))

    def free_ids(self, tick):
        while self.freed and self.freed[0][0] <= tick:
            _, _, number, space = heapq.heappop(self.freed)
            space.release(number)

    # What happens in a stay.

    def plan(self, stay, cpu):
        task, us = stay.task, self.us
        if task.kind == "vcpu":
            task.guest.plan(stay)
            return
        if task.kind == "idle":
            stay.end = stay.entry + self.rng.randrange(10, 1500) * us
            stay.segments = [Segment(stay.context, stay.end, KERNEL)]
            return
        stay.end = stay.entry + min(int(self.rng.lognormvariate(5.0, 1.2)) * us + 20 * us, 6000 * us)
        stay.is_runnable = self.rng.random() < 0.5
        stay.segments = [Segment(stay.context, stay.end, KERNEL)] if task.kind == "kthread" else list(self.levels(stay))
        if task.kind == "user":
            self.live(stay, cpu)
        task.wake = stay.end if stay.is_runnable else stay.end + self.rng.randrange(20, 2500) * us

    def levels(self, stay):
        """Kernel and user code in turn; the switches at both ends are in the kernel."""
        us, at, level, to = self.us, stay.context, KERNEL, stay.entry
        while at < stay.end:
            to = min(max(at, to) + (self.rng.randrange(1, 15) if level == KERNEL else self.rng.randrange(5, 120)) * us, stay.end)
            if stay.end - to < 5 * us:
                to = stay.end - (2 * us if level == USER else 0)
            yield Segment(at, to, level)
            at, level = to, KERNEL if level == USER else USER

    def live(self, stay, cpu):
        """Forks, execs and the exit of a user task, all in kernel code."""
        task, us = stay.task, self.us
        calls = [s for s in stay.segments if s.level == KERNEL and s.end - s.begin > 4 * us and s.begin > stay.entry]
        if calls and task.leader is task and self.rng.random() < self.opts["execs"]:
            self.exec(task, self.rng.choice(calls).begin + 3 * us, cpu)
        if calls and self.rng.random() < self.opts["forks"]:
            self.fork(task, self.rng.choice(calls).begin + us, cpu)
        last = stay.segments[-1]
        if last.end - last.begin >= 2 * us and task.serial > SYSTEM_SERIALS and task.is_alone and self.rng.random() < self.opts["exits"]:
            task.exit, stay.is_runnable = stay.end - us, False
            self.events.append((task.exit, cpu, "exit", task))

    def fork(self, task, tick, cpu):
        if len(self.pool) > self.opts["processes"] * 4 + 20 or any(len(n.used) + 4 > n.id_max for n in task.space.chain()):
            return
        is_thread, space = self.rng.random() < 0.5, task.space
        if not is_thread and self.rng.random() < 0.1 and self.containers and len(self.spaces) < NR_SPACES_MAX:
            space = self.new_space(space, self.opts["shift_local"])
        child = Task(self, "user", space, task.leader if is_thread else None, task.comm_at(tick), task.image, born=tick)
        child.parent, child.wake = task, tick + self.rng.randrange(10, 300) * self.us
        self.tasks.append(child)
        self.pool.append(child)
        self.events.append((tick, cpu, "fork", child))
        if not is_thread:
            self.events.append((tick, cpu, "namespaces", child))

    def exec(self, task, tick, cpu):
        """Of processes with one thread: the model has no thread that takes over the id of its leader."""
        if task.is_alone:
            task.names.append((tick, f"x{task.serial}.{len(task.names)}"))
            self.events.append((tick, cpu, "exec", task))
