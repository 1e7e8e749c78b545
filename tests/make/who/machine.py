# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every machine of the model has: PID namespaces, tasks with their ids and names, and stays of tasks on CPUs.

Times are ticks of the host's physical counter. A machine says what really happened; recorder.py says what a recorder sees of it."""

USER, KERNEL = 0, 1
INIT_PID_NS = 0xEFFFFFFC  # Linux include/linux/proc_ns.h, PROC_PID_INIT_INO
FIRST_OTHER_NS = 0xF0000000
NR_FIXED_IDS = 2  # init and kthreadd keep their ids where others are shifted


class Namespace:
    """Gives ids 1 to id_max away in a circle, as the kernel does. `shift` is added to all but the first two."""

    def __init__(self, parent, inode, id_max, shift=0):
        self.parent, self.inode, self.id_max, self.shift = parent, inode, id_max, shift
        self.last, self.used = 0, set()

    def new_id(self):
        for _ in range(self.id_max):
            self.last = self.last % self.id_max + 1
            if self.last not in self.used:
                self.used.add(self.last)
                return self.last + (self.shift if self.last > NR_FIXED_IDS else 0)
        raise RuntimeError("no ids left")

    def release(self, number):
        self.used.discard(number - self.shift if number > NR_FIXED_IDS else number)

    def chain(self):
        """This namespace and all above it."""
        space, out = self, []
        while space:
            out.append(space)
            space = space.parent
        return out


class Task:
    """A thread. `ids`: its number in its namespace and in each above it; `serial`: unique on its machine, also where ids are reused."""

    def __init__(self, machine, kind, space, leader, comm, image, born=None):
        self.machine, self.kind, self.space, self.image, self.born = machine, kind, space, image, born
        self.leader = leader or self
        self.ids = {} if kind == "idle" else {n: n.new_id() for n in space.chain()}
        self.serial = machine.next_serial()
        self.names = [(0, comm or f"{self.first_name()}-{self.serial}")]  # (since, name)
        self.exit = self.released = None
        self.wake, self.cpu = 0, None
        self.guest = self.vcpu = self.parent = None

    def first_name(self):
        return {"user": "app", "kthread": f"kworker/{self.machine.rng.randrange(8)}"}.get(self.kind, self.kind)

    def id_in(self, space, tick=None):
        """As the kernel writes it: 0 for idle and for what `space` does not contain, -1 once released."""
        if tick is not None and self.released is not None and tick >= self.released:
            return -1
        return self.ids.get(space, 0)

    @property
    def root_id(self):
        return self.ids.get(self.machine.root, 0)

    def comm_at(self, tick):
        return next(name for since, name in reversed(self.names) if since <= tick)

    def next_name_at(self, tick):
        return next((since for since, _ in self.names if since > tick), float("inf"))

    @property
    def is_alone(self):
        """Has its process no other thread that lives?"""
        return not any(t.leader is self and t is not self and t.exit is None for t in self.machine.tasks)


class Segment:
    """[begin, end) of a stay at one level. In a guest: `guest` and `task` say whose code it is."""

    __slots__ = ("begin", "end", "level", "guest", "task")

    def __init__(self, begin, end, level, guest=None, task=None):
        self.begin, self.end, self.level, self.guest, self.task = begin, end, level, guest, task


class Stay:
    """One stay of a task on a CPU, with the steps of the switch that began it (section 1 of the specification):

    tracepoint 1, out 2 (of `previous`), stop 3, context 5 (the owner changes), landing 6, start 7, entry 8 (switched in)."""

    __slots__ = ("task", "previous", "was_runnable", "tracepoint", "out", "stop", "context", "landing", "start", "entry", "end", "is_runnable",
                 "segments")

    def __init__(self, task, previous, was_runnable, steps):
        self.task, self.previous, self.was_runnable = task, previous, was_runnable
        self.tracepoint, self.out, self.stop, self.context, self.landing, self.start, self.entry = steps
        self.end, self.is_runnable, self.segments = None, True, []


class Machine:
    def __init__(self, rng, name, nr_cpus, id_max, shift):
        self.rng, self.name, self.nr_cpus = rng, name, nr_cpus
        self.root = Namespace(None, INIT_PID_NS, id_max, shift)
        self.spaces, self.tasks, self.pool = [self.root], [], []
        self.nr_serials = self.nr_images = 0
        self.next_inode = FIRST_OTHER_NS + rng.randrange(64)

    def next_serial(self):
        self.nr_serials += 1
        return self.nr_serials

    def new_image(self):
        self.nr_images += 1
        return self.nr_images

    def new_space(self, parent, shift):
        space = Namespace(parent, self.next_inode, parent.id_max, shift)
        self.next_inode += 4
        self.spaces.append(space)
        return space

    def add(self, kind, space=None, leader=None, comm=None, image=None):
        task = Task(self, kind, space or self.root, leader, comm, image)
        self.tasks.append(task)
        return task

    def add_process(self, space=None, comm=None):
        task = self.add("user", space, comm=comm, image=self.new_image())
        self.pool.append(task)
        return task

    def new_idle(self):
        return Task(self, "idle", self.root, None, "swapper", None)
