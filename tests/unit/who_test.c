/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who.h"

#include <stdio.h>

#include "unit/tap.h"

static void map(struct who *w, struct who_space *s, uint64_t start, uint64_t len, uint64_t pgoff,
		const char *path)
{
	who_take_mmap(
		w, s,
		&(struct perf_mmap){
			.start = start, .len = len, .pgoff = pgoff, .filename = path, .prot = 5});
}

static const char *path_at(struct who_space *s, uint64_t addr)
{
	struct who_map *m = who_space_find(s, addr);

	return m ? m->path : NULL;
}

static void test_maps(struct who *w)
{
	struct who_space *s = who_thread_get(w, 10, 10)->space;

	map(w, s, 0x1000, 0x4000, 0x100, "a");
	map(w, s, 0x2000, 0x1000, 0, "b");
	CHECK_STR(path_at(s, 0x1fff), "a", "before the hole");
	CHECK_STR(path_at(s, 0x2000), "b", "the newer map wins");
	CHECK_STR(path_at(s, 0x3000), "a", "after it");
	CHECK_EQ(who_space_find(s, 0x3000)->pgoff, 0x2100,
		 "what is left has its page offset moved");
	CHECK(!path_at(s, 0x5000) && !path_at(s, 0xfff), "ends are exclusive");
	map(w, s, 0x0, 0x10000, 0, "c");
	CHECK(!strcmp(path_at(s, 0x1000), "c") && !strcmp(path_at(s, 0x4fff), "c"),
	      "one map over all");
	map(w, s, UINT64_MAX - 10, 100, 0, "wraps");
	map(w, s, 0x20000, 0, 0, "empty");
	CHECK(!path_at(s, UINT64_MAX - 5) && !path_at(s, 0x20000),
	      "a map that wraps or is empty covers nothing");
}

static void test_fork(struct who *w)
{
	struct who_thread *parent = who_thread_get(w, 20, 20), *child, *thread;
	uint32_t generation;

	who_take_comm(w, &(struct perf_comm){.pid = 20, .tid = 20, .comm = "parent"});
	map(w, parent->space, 0x1000, 0x1000, 0, "exe");
	who_take_fork(w, &(struct perf_task){.pid = 21, .tid = 21, .ppid = 20, .ptid = 20});
	who_take_fork(w, &(struct perf_task){.pid = 20, .tid = 22, .ppid = 20, .ptid = 20});
	child = who_thread_find(w, 21);
	thread = who_thread_find(w, 22);
	CHECK_STR(child->comm, "parent", "a child starts with its parent's name");
	CHECK(thread->space == parent->space && child->space != parent->space,
	      "threads share, processes do not");
	generation = parent->space->generation;
	map(w, child->space, 0x1000, 0x1000, 0, "lib");
	CHECK(!strcmp(path_at(parent->space, 0x1000), "exe") &&
		      !strcmp(path_at(child->space, 0x1000), "lib"),
	      "a change in the child leaves the parent alone");
	CHECK_EQ(parent->space->generation, generation, "and its generation");
	who_take_comm(w,
		      &(struct perf_comm){.pid = 21, .tid = 21, .comm = "execed", .is_exec = true});
	CHECK(!strcmp(path_at(child->space, 0x1000), "lib") && path_at(parent->space, 0x1000),
	      "inside exec, the call stack still starts in the old program");
	map(w, child->space, 0x1800, 0x100, 0, "new");
	CHECK(!strcmp(path_at(child->space, 0x1800), "new") &&
		      !strcmp(path_at(child->space, 0x1900), "lib") &&
		      !strcmp(path_at(child->space, 0x1810), "new"),
	      "the new program's maps go first");
	who_space_settle(w, child->space);
	CHECK(!path_at(child->space, 0x1000) && path_at(child->space, 0x1800),
	      "once it runs, nothing is left of the old program");
	who_keep_maps_over_exec(w);
	who_take_comm(w,
		      &(struct perf_comm){.pid = 21, .tid = 21, .comm = "execed", .is_exec = true});
	map(w, child->space, 0x1800, 0x80, 0, "newer");
	who_space_settle(w, child->space);
	CHECK(!strcmp(path_at(child->space, 0x1800), "newer") &&
		      !strcmp(path_at(child->space, 0x1880), "new"),
	      "or all that is not covered, when asked to do as perf does");
	who_take_fork(w, &(struct perf_task){.pid = 21, .tid = 21, .ppid = 1, .ptid = 1});
	CHECK_STR(who_thread_find(w, 21)->comm, ":21",
		  "a number used again: nothing of the old thread is left");
	who_take_fork(w,
		      &(struct perf_task){
			      .pid = 23, .tid = 23, .ppid = 20, .ptid = 20, .is_recorders = true});
	CHECK(!path_at(who_thread_find(w, 23)->space, 0x1000),
	      "a task that ran before the recording has none of its parent's maps");
	who_take_comm(w, &(struct perf_comm){.pid = 0, .tid = 0, .comm = "swapper"});
	map(w, who_thread_get(w, 0, 0)->space, 0x1000, 0x1000, 0, "exe");
	who_take_fork(w, &(struct perf_task){.pid = 24, .tid = 24});
	CHECK(!path_at(who_thread_find(w, 24)->space, 0x1000) &&
		      !strcmp(who_thread_find(w, 24)->comm, ":24"),
	      "a task born outside the recorder's namespace inherits nothing");
	who_take_fork(w, &(struct perf_task){.pid = 20, .tid = 20, .ppid = 20, .ptid = 20});
	CHECK(who_thread_find(w, 20) == parent, "a thread that forks itself is left alone");
}

static void test_late_pid(struct who *w)
{
	struct who_thread *t = who_thread_get(w, UINT32_MAX, 31);

	map(w, who_thread_get(w, 30, 30)->space, 0x1000, 0x1000, 0, "exe");
	CHECK(!path_at(t->space, 0x1000), "a thread of an unknown process has no maps");
	who_thread_get(w, 30, 31);
	CHECK_STR(path_at(t->space, 0x1000), "exe", "once its process is known, it has that one's");
	CHECK_STR(t->comm, ":31", "a thread without a name is called by its number");
	CHECK_STR(who_thread_get(w, 0, 0)->comm, "swapper", "thread 0 is the idle task");
}

static void test_no_memory(void)
{
	int nr_failed = 0;

	for (uint64_t n = 0; n < 40; n++) {
		mem_fail_after(n);
		struct who *w = who_new(NULL);

		if (w) {
			who_take_comm(w, &(struct perf_comm){.pid = 1, .tid = 2, .comm = "x"});
			who_take_fork(
				w, &(struct perf_task){.pid = 5, .tid = 5, .ppid = 1, .ptid = 2});
			if (who_thread_find(w, 5))
				map(w, who_thread_find(w, 5)->space, 1, 2, 3, "y");
		}
		nr_failed += mem_has_failed();
		who_free(w);
	}
	mem_fail_after(UINT64_MAX);
	CHECK(nr_failed > 3, "each allocation failing in turn: no crash, no leak");
}

/* What is recorded of thread @p tid: its name, a file, a process of its own. */
static void describe(struct who *w, uint32_t tid)
{
	struct who_thread *t = who_thread_get(w, tid, tid);
	char name[32];

	snprintf(name, sizeof(name), "name of thread %u", tid);
	who_take_comm(w, &(struct perf_comm){.pid = tid, .tid = tid, .comm = name});
	map(w, t->space, 0x1000, 0x1000, 0, name);
}

static void test_budget(void)
{
	struct budget b = {.limit = 64 << 10};
	struct who *w = who_new(&b);
	struct who_thread *first, *last;

	for (uint32_t tid = 1; tid <= 1000; tid++)
		describe(w, tid);
	first = who_thread_get(w, 1, 1);
	last = who_thread_get(w, 1000, 1000);
	CHECK(b.used <= b.limit && b.peak > b.limit / 2, "what is kept stays within the budget");
	CHECK(first->tid == 1 && path_at(first->space, 0x1000), "the first threads are known");
	CHECK(last->tid == UINT32_MAX && last == who_thread_get(w, 999, 999),
	      "one thread stands for all others");
	CHECK_STR(last->comm, who_not_kept, "and has no name");
	CHECK(!path_at(last->space, 0x1000), "nor a mapping: what was described is another's");
	CHECK(b.nr_refused > 0 && b.nr_refused < 5, "each kind of thing is counted once");
	CHECK(who_nr_maps_dropped(w) > 100, "mappings that are not kept are counted");
	map(w, first->space, 0x1800, 0x100, 0, "a file that is not kept");
	CHECK(!path_at(first->space, 0x1880), "a mapping that is not kept hides what was there");
	who_take_comm(w, &(struct perf_comm){.pid = 1, .tid = 1, .comm = "a new name"});
	CHECK_STR(first->comm, who_not_kept, "an old name does not stay where the new one is lost");
	who_free(w);
	CHECK(!b.used, "all of it is given back");
}

int main(void)
{
	struct who *w = who_new(NULL);

	test_maps(w);
	test_fork(w);
	test_late_pid(w);
	who_free(w);
	test_no_memory();
	test_budget();
	return tap_done();
}
