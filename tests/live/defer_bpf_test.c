/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/defer_run.h"
#include "unit/tap.h"

/*
 * record/stacks/bpf/defer_bpf.h on children of this program, which is built without frame pointers.
 * Their functions are ours: addresses are compared with the functions' own.
 */
#define NOINLINE __attribute__((noinline, noclone, aligned(512)))

static volatile uint64_t sunk;

/* Of CPU time: as many samples come of it on a busy machine. */
static NOINLINE void spin_leaf(long ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 20000; i++)
			sunk += sunk * 7 + (uint64_t)i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static NOINLINE void dig(long depth, long ms)
{
	volatile char room[24];

	room[0] = (char)depth;
	if (depth > 0)
		dig(depth - 1, ms);
	else
		spin_leaf(ms);
	sunk += (uint64_t)room[0];
}

static NOINLINE void deep_body(long depth)
{
	dig(depth, 600);
	sunk++;
}

static bool is_in(uint64_t ip, uintptr_t fn, size_t size)
{
	return ip >= fn && ip < fn + size;
}
#define IS_IN(ip, fn) is_in(ip, (uintptr_t)(fn), 512)

/* Frames of @p fn in a stack, if they stand in one piece and @p caller follows. */
static uint32_t nr_calls(const struct run *r, const struct run_stack *s, void (*fn)(long, long),
			 void (*caller)(long))
{
	const uint64_t *ip = r->ips.data + s->first;
	uint32_t i = 0, n = 0;

	while (i < s->nr && !IS_IN(ip[i], fn))
		i++;
	for (; i < s->nr && IS_IN(ip[i], fn); i++)
		n++;
	return i < s->nr && IS_IN(ip[i], caller) ? n : 0;
}

static void print_stack(const struct run *r, const struct run_stack *s)
{
	printf("# cookie %llx tid %u nr %u stop %s why %s:", (unsigned long long)s->cookie, s->tid,
	       s->nr, unw_stop_name(s->stop), unw_why_name(s->why));
	for (uint32_t i = 0; i < s->nr && i < 24; i++)
		printf(" %llx", (unsigned long long)r->ips.data[s->first + i]);
	printf("\n");
}

static void print_run(const struct run *r, const char *name)
{
	uint64_t by_stop[NR_UNW_STOPS] = {0}, nr_frames = 0;

	printf("# %s: requests %zu, stacks %zu, twice %llu, wants %llu (%.1f ms), left %zu\n", name,
	       r->requests.nr, r->stacks.nr, (unsigned long long)r->nr_twice,
	       (unsigned long long)r->nr_wants, (double)r->want_ns / 1e6, r->nr_left);
	for (size_t i = 0; i < r->stacks.nr; i++) {
		by_stop[r->stacks.data[i].stop % NR_UNW_STOPS]++;
		nr_frames += r->stacks.data[i].nr;
	}
	printf("#   frames per stack %.1f;",
	       (double)nr_frames / (double)(r->stacks.nr + !r->stacks.nr));
	for (int i = 0; i < NR_UNW_STOPS; i++) {
		if (by_stop[i])
			printf(" %s %llu", unw_stop_name((enum unw_stop)i),
			       (unsigned long long)by_stop[i]);
	}
	printf("\n#   kernel: requests %llu entries %llu stacks %llu refused %llu map full %llu "
	       "ring full %llu late %llu no memory %llu kernel tasks %llu tables %llu (%llu KiB)\n",
	       (unsigned long long)r->counts.nr_requests, (unsigned long long)r->counts.nr_entries,
	       (unsigned long long)r->counts.nr_stacks, (unsigned long long)r->counts.nr_refused,
	       (unsigned long long)r->counts.nr_map_full,
	       (unsigned long long)r->counts.nr_ring_full, (unsigned long long)r->counts.nr_late,
	       (unsigned long long)r->counts.nr_no_scratch,
	       (unsigned long long)r->counts.nr_kernel_tasks,
	       (unsigned long long)r->counts.nr_tables,
	       (unsigned long long)r->counts.table_bytes >> 10);
}

static bool start(struct run *r, const struct defer_bpf_opts *o)
{
	struct rec_error error;

	if (run_open(r, o, &error)) {
		CHECK(false, "opened: %s", error.text);
		return false;
	}
	return true;
}

static bool has_frame(const struct run *r, const struct run_stack *s, uintptr_t fn)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		if (is_in(r->ips.data[s->first + i], fn, 512))
			return true;
	}
	return false;
}

/* Entries that lost their stack because user mode ran before the callback did are counted where it
 * happens, and are few. */
static void check_lost(const struct run *r, const char *name, size_t nr_lost)
{
	uint64_t nr_reported = r->counts.nr_late + r->counts.nr_no_scratch;

	CHECK(nr_lost <= nr_reported, "%s: of %zu entries without their stack %llu are reported",
	      name, nr_lost, (unsigned long long)nr_reported);
	CHECK(nr_reported <= 2 + r->counts.nr_entries / 100, "%s: these are few", name);
}

static void deep(bool is_immediate, long depth)
{
	struct defer_bpf_opts o = {.is_immediate = is_immediate, .max_stack = 1024};
	size_t nr_whole = 0, nr_pending = 0, nr_with = 0, nr_outside = 0, shown = 0;
	struct run r;
	int go, pid;

	if (!start(&r, &o))
		return;
	pid = run_child(deep_body, depth, &go);
	CHECK_EQ(run_add(&r, pid, RUN_CPU_CLOCK, 4999), 0, "events opened");
	run_go(go);
	run_until_end(&r, pid);
	run_stop(&r);
	for (size_t i = 0; i < r.requests.nr; i++) {
		const struct run_stack *s = run_stack_of(&r, r.requests.data[i].cookie);

		nr_with += s != NULL;
		if (!s)
			continue;
		if (s->stop == UNW_STOP_NO_TABLE_YET || s->stop == UNW_STOP_MAPS_BUSY)
			nr_pending++;
		else if (s->stop == UNW_STOP_OUTERMOST &&
			 nr_calls(&r, s, dig, deep_body) == depth + 1)
			nr_whole++;
		else if (s->stop == UNW_STOP_OUTERMOST &&
			 !has_frame(&r, s, (uintptr_t)spin_leaf)) /* on the way there and back */
			nr_outside++;
		else if (shown++ < 4)
			print_stack(&r, s);
	}
	print_run(&r, is_immediate ? "deep, immediate" : "deep");
	CHECK(nr_whole > 200, "%zu samples", r.requests.nr);
	/* At its end the task has no user space any more, and its samples say so. */
	CHECK(r.requests.nr - nr_with <= r.counts.nr_kernel_tasks + r.counts.nr_late,
	      "stacks for %zu of %zu, of which %llu had no user space", nr_with, r.requests.nr,
	      (unsigned long long)r.counts.nr_kernel_tasks);
	CHECK((nr_whole + nr_pending + nr_outside) * 1000 >= nr_with * 999,
	      "of %zu whole: %zu, before the tables: %zu, outside: %zu", nr_with, nr_whole,
	      nr_pending, nr_outside);
	run_done(&r);
}

struct outcome {
	size_t nr, nr_with, nr_none, nr_no_table, nr_outermost, nr_register;
	uint64_t best_cookie; /* that most samples share */
	size_t nr_best;
	size_t nr_lost; /* entries of the kernel without their stack, whatever samples they have
			 */
};

static void look(const struct run *r, struct outcome *o)
{
	struct map_u64 n = {0};

	memset(o, 0, sizeof(*o));
	o->nr = r->requests.nr;
	for (size_t i = 0; i < r->requests.nr; i++) {
		uint64_t c = r->requests.data[i].cookie, *of;
		const struct run_stack *s = run_stack_of(r, c);

		if (!(c & 0xffff)) {
			o->nr_none++;
			continue;
		}
		o->nr_with += s != NULL;
		o->nr_lost += !s && !map_u64_get(&n, c);
		o->nr_no_table +=
			s && (s->stop == UNW_STOP_NO_TABLE_YET || s->stop == UNW_STOP_MAPS_BUSY);
		o->nr_outermost += s && s->stop == UNW_STOP_OUTERMOST;
		o->nr_register += s && s->stop == UNW_STOP_REGISTER;
		of = map_u64_get(&n, c);
		if (!of && map_u64_put(&n, c, 0))
			of = map_u64_get(&n, c);
		if (of && ++*of > o->nr_best) {
			o->nr_best = *of;
			o->best_cookie = c;
		}
	}
	map_u64_done(&n);
}

/* Record body(arg) in a child with @p nr events, to its end. */
static bool record(struct run *r, const char *name, void (*body)(long), long arg,
		   const struct defer_bpf_opts *o, const enum run_event *events, size_t nr,
		   struct outcome *ret)
{
	int go, pid;

	if (!start(r, o))
		return false;
	pid = run_child(body, arg, &go);
	run_scan(r, pid);
	for (size_t i = 0; i < nr; i++)
		CHECK_EQ(run_add(r, pid, events[i], events[i] == RUN_CPU_CLOCK ? 4999 : 0), 0,
			 "%s: event opened", name);
	run_go(go);
	run_until_end(r, pid);
	run_stop(r);
	print_run(r, name);
	look(r, ret);
	printf("#   samples %zu: with a stack %zu (outermost %zu, no table yet %zu), none "
	       "expected %zu; most of one cookie %zu\n",
	       ret->nr, ret->nr_with, ret->nr_outermost, ret->nr_no_table, ret->nr_none,
	       ret->nr_best);
	CHECK(r->requests.nr + r->counts.nr_ring_full >= r->counts.nr_requests,
	      "%s: every request arrived", name);
	return true;
}

static const enum run_event clock_only[] = {RUN_CPU_CLOCK};
static const enum run_event mixed[] = {RUN_CPU_CLOCK, RUN_SYSCALL_ENTER, RUN_SWITCHES, RUN_FAULTS};
static const struct defer_bpf_opts defaults = {.max_stack = 127};

/* Into the same memory again and again: little else is to be done for it. */
static NOINLINE void read_body(long nr)
{
	enum { PIECE = 1 << 20, MOST = 1024 };
	static char to[PIECE];
	static struct iovec v[MOST];
	int fd = open("/dev/zero", O_RDONLY);

	for (long i = 0; i < MOST; i++)
		v[i] = (struct iovec){to, PIECE};
	if (readv(fd, v, (int)nr) != nr * PIECE)
		_exit(1);
	sunk++;
}

static void long_read(void)
{
	const struct run_stack *s;
	struct outcome o;
	struct run r;

	if (!record(&r, "one long read", read_body, 1024, &defaults, clock_only, 1, &o))
		return;
	CHECK(o.nr_best > 50 && o.nr_best * 10 > o.nr * 9, "%zu of %zu samples share a cookie",
	      o.nr_best, o.nr);
	s = run_stack_of(&r, o.best_cookie);
	CHECK(s && s->nr > 2 && IS_IN(r.ips.data[s->first + 1], read_body),
	      "and their stack leads to the call of readv()");
	if (s)
		print_stack(&r, s);
	CHECK_EQ(r.nr_twice, 0, "no cookie has two stacks");
	run_done(&r);
}

static int blocked[2];

static NOINLINE void block_body(long unused)
{
	char c;

	(void)unused;
	if (read(blocked[0], &c, 1) < 0)
		sunk++;
}

/* Is it in its read() of @p fd? */
static bool is_reading(int pid, int fd)
{
	char path[64], text[64] = "", wanted[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	snprintf(wanted, sizeof(wanted), "0 0x%x ", (unsigned int)fd);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	return !strncmp(text, wanted, strlen(wanted));
}

static void asleep_at_end(void)
{
	const struct run_stack *s;
	uint64_t cookie = 0;
	struct run r;
	int go, pid;

	if (!start(&r, &defaults) || pipe(blocked))
		return;
	pid = run_child(block_body, 0, &go);
	run_scan(&r, pid);
	CHECK_EQ(run_add(&r, pid, RUN_SYSCALL_ENTER, 0), 0, "tracepoint opened");
	run_go(go);
	for (int i = 0; i < 1000 && !is_reading(pid, blocked[0]); i++)
		run_for(&r, 10);
	run_for(&r, 50);
	CHECK(r.requests.nr > 0, "a request of the sleeping task is there");
	/* Others that have events of their own pass the tracepoint too. */
	for (size_t i = 0; i < r.requests.nr; i++) {
		if (r.requests.data[i].tid == (uint32_t)pid)
			cookie = r.requests.data[i].cookie;
	}
	CHECK(cookie && !run_stack_of(&r, cookie), "its stack is still to come");
	run_stop(&r);
	s = run_stack_of(&r, cookie);
	CHECK(s && s->nr > 2 && IS_IN(r.ips.data[s->first + 1], block_body) &&
		      s->stop == UNW_STOP_OUTERMOST,
	      "the task iterator walked it");
	CHECK_EQ(r.nr_left, 0, "none is left over");
	if (write(blocked[1], "", 1) == 1)
		waitpid(pid, NULL, 0);
	run_done(&r);
}

enum { AWAY_BYTES = 1 << 20, AWAY_DEPTH = 100, NR_AWAY = 50 };

static char *away; /* a stack with pages that are removed while their bytes stay */

static NOINLINE void dig_away(long depth, long nr)
{
	volatile char room[2000];

	room[0] = (char)depth;
	if (depth > 0)
		dig_away(depth - 1, nr);
	else
		while (nr-- > 0)
			madvise(away, AWAY_BYTES, MADV_DONTNEED);
	sunk += (uint64_t)room[0];
}

static NOINLINE void away_body(long depth)
{
	dig_away(depth, NR_AWAY);
	sunk++;
}

static void *away_main(void *depth)
{
	away_body((long)(intptr_t)depth);
	return NULL;
}

static NOINLINE void away_thread_body(long depth)
{
	int fd = memfd_create("stack", 0);
	pthread_attr_t attr;
	pthread_t t;

	if (fd < 0 || ftruncate(fd, AWAY_BYTES))
		_exit(1);
	away = mmap(NULL, AWAY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (away == MAP_FAILED || pthread_attr_init(&attr) ||
	    pthread_attr_setstack(&attr, away, AWAY_BYTES) ||
	    pthread_create(&t, &attr, away_main, (void *)(intptr_t)depth))
		_exit(1);
	pthread_join(t, NULL);
}

/* On the way back from madvise() none of the stack is mapped: a walk has to sleep. */
static void paged_out(void)
{
	static const enum run_event entries[] = {RUN_SYSCALL_ENTER};
	size_t nr = 0, nr_whole = 0;
	struct outcome o;
	struct run r;

	if (!record(&r, "paged out", away_thread_body, AWAY_DEPTH, &defaults, entries, 1, &o))
		return;
	for (size_t i = 0; i < r.stacks.nr; i++) {
		const struct run_stack *s = &r.stacks.data[i];
		uint32_t n = nr_calls(&r, s, dig_away, away_body);

		if (s->nr < 2 || !IS_IN(r.ips.data[s->first + 1], dig_away))
			continue;
		nr++;
		if (n == AWAY_DEPTH + 1 && s->stop == UNW_STOP_OUTERMOST)
			nr_whole++;
		else
			print_stack(&r, s);
	}
	check_lost(&r, "paged out", o.nr_lost);
	CHECK(nr + o.nr_lost >= NR_AWAY && nr <= NR_AWAY && nr_whole == nr,
	      "of %zu stacks that are not in memory %zu are whole", nr, nr_whole);
	run_done(&r);
}

static NOINLINE void fault_body(long bytes)
{
	for (int round = 0; round < 4; round++) {
		volatile char *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (long i = 0; i < bytes; i += 4096)
			p[i] = 1;
		munmap((void *)p, (size_t)bytes);
	}
}

static void *thread_main(void *arg)
{
	return arg;
}

static NOINLINE void churn_body(long nr)
{
	for (long i = 0; i < nr; i++) {
		pthread_t t;

		if (!pthread_create(&t, NULL, thread_main, NULL))
			pthread_join(t, NULL);
	}
}

static NOINLINE void exit_body(long nr)
{
	for (long i = 0; i < nr; i++) {
		int pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static NOINLINE void exec_body(long nr)
{
	for (long i = 0; i < nr; i++) {
		int pid = fork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(pid, NULL, 0);
	}
}

static NOINLINE void on_alarm(int unused)
{
	(void)unused;
	for (int i = 0; i < 3000; i++)
		sunk += sunk * 7 + (uint64_t)i;
}

static NOINLINE void signal_body(long ms)
{
	stack_t alt = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
	struct sigaction a = {.sa_handler = on_alarm, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerspec every = {.it_interval.tv_nsec = 100000, .it_value.tv_nsec = 100000};
	timer_t t;

	sigaltstack(&alt, NULL);
	sigaction(SIGALRM, &a, NULL);
	timer_create(CLOCK_MONOTONIC, NULL, &t);
	timer_settime(t, 0, &every, NULL);
	dig(20, ms);
}

static NOINLINE void dlopen_body(long nr)
{
	for (long i = 0; i < nr; i++) {
		void *l = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);

		if (!l)
			_exit(1);
		dlclose(l);
	}
}

/* Every sample has its stack, or says why there is none. A ring is full where other programs keep
 * this one from reading it: then it is tried again. */
static void storm(const char *name, void (*body)(long), long arg, const enum run_event *events,
		  size_t nr, const struct defer_bpf_opts *opts)
{
	struct outcome o;
	struct run r;

	for (int tries = 0;; tries++) {
		if (!record(&r, name, body, arg, opts, events, nr, &o))
			return;
		if (!r.counts.nr_ring_full || tries == 3)
			break;
		run_done(&r);
	}
	CHECK(o.nr > 100, "%s: %zu samples", name, o.nr);
	check_lost(&r, name, o.nr_lost);
	CHECK(r.counts.nr_map_full + r.counts.nr_ring_full + r.counts.nr_refused == 0,
	      "%s: nothing was refused", name);
	/* While ld.so binds a function at its first call too: by rbx, which callees saved. */
	CHECK((o.nr_outermost + o.nr_no_table) * 1000 >= o.nr_with * 995,
	      "%s: %zu of %zu reach the outermost frame, %zu lack a register", name, o.nr_outermost,
	      o.nr_with, o.nr_register);
	for (size_t i = 0, shown = 0; i < r.stacks.nr && shown < 3; i++) {
		uint8_t stop = r.stacks.data[i].stop;

		if (stop != UNW_STOP_OUTERMOST && stop != UNW_STOP_NO_TABLE_YET &&
		    stop != UNW_STOP_MAPS_BUSY) {
			print_stack(&r, &r.stacks.data[i]);
			shown++;
		}
	}
	run_done(&r);
}

static void signals(void)
{
	size_t nr_in = 0, nr_through = 0;
	struct outcome o;
	struct run r;

	if (!record(&r, "signals", signal_body, 1000, &defaults, clock_only, 1, &o))
		return;
	for (size_t i = 0; i < r.stacks.nr; i++) {
		const struct run_stack *s = &r.stacks.data[i];
		bool in = false, through = false;

		for (uint32_t k = 0; k < s->nr; k++) {
			in |= IS_IN(r.ips.data[s->first + k], on_alarm);
			through |= in && IS_IN(r.ips.data[s->first + k], signal_body);
		}
		nr_in += in;
		nr_through += through && s->stop == UNW_STOP_OUTERMOST;
		if ((in && !through) || s->stop != UNW_STOP_OUTERMOST)
			print_stack(&r, s);
	}
	CHECK(nr_in > 20 && nr_in == nr_through,
	      "of %zu stacks in the handler on its own stack %zu continue to what it interrupted",
	      nr_in, nr_through);
	check_lost(&r, "signals", o.nr_lost);
	run_done(&r);
}

static void without_tables(void)
{
	size_t nr_copies = 0;
	struct outcome o;
	struct run r;
	int go, pid;

	if (!start(&r, &defaults))
		return;
	r.no_tables = true;
	pid = run_child(deep_body, 40, &go);
	CHECK_EQ(run_add(&r, pid, RUN_CPU_CLOCK, 999), 0, "event opened");
	run_go(go);
	run_until_end(&r, pid);
	run_stop(&r);
	look(&r, &o);
	for (size_t i = 0; i < r.stacks.nr; i++)
		nr_copies += r.stacks.data[i].has_copy && r.stacks.data[i].copy_bytes > 2000;
	check_lost(&r, "without tables", o.nr_lost);
	CHECK(o.nr_no_table == o.nr_with && nr_copies * 10 > r.stacks.nr * 9,
	      "without tables %zu of %zu stacks come with registers and a copy", nr_copies,
	      r.stacks.nr);
	CHECK(r.nr_wants >= 1 && !r.nr_wanted_again, "each file is asked for once");
	run_done(&r);
}

static const char *only; /* one case by name, from the command line */

static bool is_wanted(const char *name)
{
	return !only || !strcmp(only, name);
}

int main(int argc, char **argv)
{
	struct defer_bpf_opts o = {0}, few = {.max_stack = 127, .max_tasks = 64};
	struct rec_error error;
	struct run r;

	only = argc > 1 ? argv[1] : NULL;
	if (geteuid())
		SKIP_ALL("needs root");
	if (!event_syscall_enter_id())
		SKIP_ALL("tracefs is not mounted");
	if (run_open(&r, &o, &error)) {
		printf("# %s\n", error.text);
		SKIP_ALL("no BPF task work here");
	}
	run_done(&r);
	if (is_wanted("deep")) {
		deep(false, 40);
		deep(false, 110);
		deep(true, 40);
	}
	if (is_wanted("read"))
		long_read();
	if (is_wanted("asleep"))
		asleep_at_end();
	if (is_wanted("away"))
		paged_out();
	if (is_wanted("faults"))
		storm("faults", fault_body, 16 << 20, mixed, 4, &defaults);
	if (is_wanted("threads"))
		storm("threads", churn_body, 1500, mixed, 4, &few);
	if (is_wanted("exits"))
		storm("exits", exit_body, 500, mixed, 4, &few);
	if (is_wanted("execs"))
		storm("execs", exec_body, 100, mixed, 4, &few);
	if (is_wanted("dlopen"))
		storm("dlopen", dlopen_body, 300, mixed, 4, &defaults);
	if (is_wanted("signals"))
		signals();
	if (is_wanted("without"))
		without_tables();
	return tap_done();
}
