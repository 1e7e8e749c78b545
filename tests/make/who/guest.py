# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest with its own scheduler. Its time passes only while the thread of one of its virtual CPUs is in guest mode."""
from machine import KERNEL, USER, Machine, Segment

ID_MAX = 400


class Guest(Machine):
    """`offset`: its counter is the host's less this. `switches`: (host tick, vcpu, previous, next, is previous runnable)."""

    def __init__(self, host, number):
        super().__init__(host.rng, f"guest{number}", host.opts["vcpus"], ID_MAX, 0)
        self.host, self.number, self.us, self.opts = host, number, host.us, host.opts
        self.offset = host.begin - host.rng.randrange(10**9)
        self.vmm, self.switches = None, []
        self.idle = [self.new_idle() for _ in range(self.nr_cpus)]
        self.add("user", comm="init", image=self.new_image())
        self.add("kthread", comm="kthreadd")
        for n in range(4):
            self.add_process(comm=f"g{number}-app{n}")
        self.current, self.left, self.level = list(self.idle), [0] * self.nr_cpus, [KERNEL] * self.nr_cpus

    def plan(self, stay):
        """A stay of a vcpu's thread: host kernel, then guest and host in turn, until the guest is idle or the thread is preempted."""
        rng, us, v = self.rng, self.us, stay.task.vcpu
        at = stay.entry + rng.randrange(2, 6) * us
        stay.segments = [Segment(stay.context, at, KERNEL)]
        budget, is_blocked = stay.entry + rng.randrange(100, 3000) * us, False
        while at < budget and not is_blocked:
            if rng.random() < self.opts["vmm_user"]:
                at = self.in_vmm(stay, at)
            at, is_blocked = self.in_guest(stay, v, at)
            at = self.host_code(stay, at, rng.randrange(1, 5) * us)
        if is_blocked and rng.random() < 0.5:  # halt polling
            at = self.host_code(stay, at, rng.randrange(1, 50) * us)
        stay.end, stay.is_runnable = at, not is_blocked
        stay.task.wake = at if stay.is_runnable else at + rng.randrange(50, 4000) * us

    @staticmethod
    def host_code(stay, at, ticks, level=KERNEL):
        stay.segments.append(Segment(at, at + ticks, level))
        return at + ticks

    def guest_code(self, stay, v, at, ticks, level=KERNEL):
        stay.segments.append(Segment(at, at + ticks, level, self, self.current[v]))
        return at + ticks

    def in_vmm(self, stay, at):
        at = self.host_code(stay, at, self.rng.randrange(3, 30) * self.us, USER)
        return self.host_code(stay, at, 2 * self.us)

    def in_guest(self, stay, v, at):
        """From an entry to the exit. @return (tick, is the guest idle)"""
        rng, us = self.rng, self.us
        end = at + rng.randrange(20, 400) * us
        if self.current[v].kind == "idle":  # the interrupt that woke the vcpu
            at = self.guest_code(stay, v, at, rng.randrange(1, 6) * us)
            self.switch(v, at)
        while at < end:
            if self.left[v] <= 0:
                at = self.guest_code(stay, v, at, us)
                self.switch(v, at)
                if self.current[v].kind == "idle":
                    return self.guest_code(stay, v, at, rng.randrange(1, 4) * us), True
            at = self.burst(stay, v, at, max(us, end - at))
        return at, False

    def burst(self, stay, v, at, limit):
        level = self.level[v]
        ticks = min(self.left[v], self.rng.randrange(3, 60) * self.us, limit)
        self.left[v] -= ticks
        self.level[v] = USER if level == KERNEL else KERNEL if self.rng.random() < 0.7 else USER
        if self.current[v].kind != "user":
            self.level[v] = KERNEL
        return self.guest_code(stay, v, at, ticks, level)

    def switch(self, v, tick):
        previous = self.current[v]
        busy = [t for w, t in enumerate(self.current) if w != v]
        ready = [t for t in self.pool if t not in busy and t is not previous]
        following = self.rng.choice(ready) if ready and (previous.kind == "idle" or self.rng.random() > 0.4) else self.idle[v]
        if following is previous:
            return
        is_runnable = previous.kind == "idle" or self.rng.random() < 0.3
        self.switches.append((tick, v, previous, following, is_runnable))
        self.current[v] = following
        self.left[v] = self.rng.randrange(30, 900) * self.us
        self.level[v] = KERNEL
