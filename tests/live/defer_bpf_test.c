/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live/defer_run.h"
#include "unit/tap.h"

/*
 * record/defer_bpf.h on children of this program, which is built without frame pointers. Their
 * functions are ours: addresses are compared with the functions' own.
 */
#define NOINLINE __attribute__((noinline, noclone, aligned(512)))

static volatile uint64_t sunk;

static NOINLINE void spin_leaf(long ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		for (int i = 0; i < 20000; i++)
			sunk += sunk * 7 + (uint64_t)i;
		clock_gettime(CLOCK_MONOTONIC, &b);
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

/* Frames of dig() in a stack, if they stand in one piece and deep_body() follows. */
static uint32_t nr_digs(const struct run *r, const struct run_stack *s)
{
	const uint64_t *ip = r->ips.data + s->first;
	uint32_t i = 0, n = 0;

	while (i < s->nr && !IS_IN(ip[i], dig))
		i++;
	for (; i < s->nr && IS_IN(ip[i], dig); i++)
		n++;
	return i < s->nr && IS_IN(ip[i], deep_body) ? n : 0;
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
	printf("#   frames a stack %.1f;",
	       (double)nr_frames / (double)(r->stacks.nr + !r->stacks.nr));
	for (int i = 0; i < NR_UNW_STOPS; i++) {
		if (by_stop[i])
			printf(" %s %llu", unw_stop_name((enum unw_stop)i),
			       (unsigned long long)by_stop[i]);
	}
	printf("\n#   kernel: requests %llu entries %llu stacks %llu refused %llu map full %llu "
	       "ring full %llu kernel tasks %llu tables %llu (%llu KiB)\n",
	       (unsigned long long)r->counts.nr_requests, (unsigned long long)r->counts.nr_entries,
	       (unsigned long long)r->counts.nr_stacks, (unsigned long long)r->counts.nr_refused,
	       (unsigned long long)r->counts.nr_map_full,
	       (unsigned long long)r->counts.nr_ring_full,
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

static void deep(bool is_immediate, long depth)
{
	struct defer_bpf_opts o = {.is_immediate = is_immediate, .max_stack = 1024};
	size_t nr_whole = 0, nr_pending = 0, nr_with = 0, shown = 0;
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
		nr_pending += s && s->stop == UNW_STOP_NO_TABLE_YET;
		if (s && s->stop == UNW_STOP_OUTERMOST && nr_digs(&r, s) == depth + 1)
			nr_whole++;
		else if (s && s->stop != UNW_STOP_NO_TABLE_YET && shown++ < 4)
			print_stack(&r, s);
	}
	print_run(&r, is_immediate ? "deep, immediate" : "deep");
	CHECK(r.requests.nr > 1000, "%zu samples", r.requests.nr);
	CHECK(r.requests.nr - nr_with <= 2, "stacks for %zu of %zu", nr_with, r.requests.nr);
	CHECK(nr_whole + nr_pending + 40 > r.requests.nr, "whole: %zu, before the tables: %zu",
	      nr_whole, nr_pending);
	run_done(&r);
}

int main(void)
{
	struct defer_bpf_opts o = {0};
	struct rec_error error;
	struct run r;

	if (geteuid())
		SKIP_ALL("needs root");
	if (run_open(&r, &o, &error)) {
		printf("# %s\n", error.text);
		SKIP_ALL("no BPF task work here");
	}
	run_done(&r);
	deep(false, 40);
	deep(false, 110);
	deep(true, 40);
	return tap_done();
}
