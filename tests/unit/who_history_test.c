/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "who/who_history.h"

#include "unit/tap.h"

enum { NR_EMPTY = 2 };

static struct clew_perf_ns at(uint64_t ns)
{
	return (struct clew_perf_ns){ns};
}

static void map(struct who_history *h, uint64_t time, uint32_t pid, uint64_t start,
		const char *path)
{
	who_history_mmap(h, at(time), pid == WHO_NONE,
			 &(struct perf_mmap){.pid = pid,
					     .tid = pid,
					     .start = start,
					     .len = 0x1000,
					     .filename = path,
					     .prot = 5,
					     .is_mmap2 = true});
}

static void exec(struct who_history *h, uint64_t time, uint32_t pid, const char *name)
{
	who_history_comm(
		h, at(time),
		&(struct perf_comm){.pid = pid, .tid = pid, .comm = name, .is_exec = true});
}

static void fork_from(struct who_history *h, uint64_t time, uint32_t parent, uint32_t pid,
		      uint32_t tid)
{
	who_history_fork(
		h, at(time),
		&(struct perf_task){.ppid = parent, .ptid = parent, .pid = pid, .tid = tid});
}

static uint32_t version_at(const struct who_history *h, uint32_t space, uint64_t time)
{
	return who_timeline_at(&h->spaces.data[space].versions, at(time))->value;
}

static uint32_t space_of(const struct who_history *h, uint32_t tid, uint64_t time)
{
	return who_history_task(h, tid, at(time))->space;
}

/* What thread @p tid sees at @p addr. */
static const char *path_at(const struct who_history *h, uint32_t tid, uint64_t time, uint64_t addr)
{
	const struct who_version *v =
		&h->versions.data[version_at(h, space_of(h, tid, time), time)];
	const struct who_map *m = who_maps_find(v->maps, addr);

	return m ? m->path : NULL;
}

static void test_timeline(void)
{
	struct who_timeline l = {0};

	CHECK(!who_timeline_at(&l, at(5)), "an empty timeline knows nothing");
	who_timeline_add(&l, at(10), 1);
	who_timeline_add(&l, at(20), 2);
	who_timeline_add(&l, at(15), 3);
	CHECK(!who_timeline_at(&l, at(9)), "before the first change nothing is known");
	CHECK(who_timeline_at(&l, at(10))->value == 1 && who_timeline_at(&l, at(19))->value == 1,
	      "a value holds from its time on");
	CHECK_EQ(who_timeline_at(&l, at(20))->value, 3,
		 "a change out of order counts as the last one");
	vec_done(&l);
}

static void test_spaces(void)
{
	struct who_history h;

	who_history_init(&h, NR_EMPTY, NULL);
	CHECK_EQ(h.versions.nr, NR_EMPTY + 1, "the caller's empty versions come first");
	map(&h, 10, 100, 0x1000, "a");
	map(&h, 20, 100, 0x3000, "b");
	CHECK_EQ(version_at(&h, space_of(&h, 100, 10), 10),
		 version_at(&h, space_of(&h, 100, 20), 20),
		 "code where none was leaves the version as it was");
	map(&h, 30, 100, 0x1000, "c");
	CHECK_STR(path_at(&h, 100, 29, 0x1000), "a", "before code is replaced: the old file");
	CHECK_STR(path_at(&h, 100, 30, 0x1000), "c", "then the new one");
	CHECK_STR(path_at(&h, 100, 30, 0x3000), "b", "what is beside it stays");
	fork_from(&h, 40, 100, 200, 200);
	map(&h, 50, 200, 0x3000, "d");
	CHECK_STR(path_at(&h, 200, 50, 0x1000), "c", "a child has its parent's code");
	CHECK(!strcmp(path_at(&h, 200, 50, 0x3000), "d") &&
		      !strcmp(path_at(&h, 100, 50, 0x3000), "b"),
	      "until one of both changes it");
	fork_from(&h, 55, 100, 100, 101);
	CHECK_EQ(space_of(&h, 101, 60), space_of(&h, 100, 60), "threads share their process's");
	exec(&h, 60, 200, "other");
	CHECK(!path_at(&h, 200, 60, 0x1000), "an exec leaves nothing mapped");
	CHECK_EQ(h.versions.data[version_at(&h, space_of(&h, 200, 60), 60)].before,
		 version_at(&h, space_of(&h, 200, 59), 59), "and keeps what it replaced");
	who_history_done(&h);
}

static void test_numbers(void)
{
	struct who_history h;

	who_history_init(&h, NR_EMPTY, NULL);
	exec(&h, 10, 100, "first");
	fork_from(&h, 20, 1, 100, 100);
	exec(&h, 30, 100, "second");
	CHECK_STR(who_history_comm_at(&h, 100, at(15)), "first", "a thread's name at a time");
	CHECK_STR(who_history_comm_at(&h, 100, at(35)), "second",
		  "then that of the next of its number");
	CHECK(space_of(&h, 100, 15) != space_of(&h, 100, 25), "which has a space of its own");
	CHECK_EQ(space_of(&h, 100, 5), space_of(&h, 100, 15),
		 "before the first record: as after it");
	CHECK(!who_history_task(&h, 7, at(10)), "a thread of which there is no record");
	CHECK_STR(who_history_comm_at(&h, 0, at(10)), "swapper", "the idle thread needs none");
	who_history_done(&h);
}

static void test_split(void)
{
	const struct clew_perf_ns times[] = {{15}, {25}};
	struct who_history h;
	uint32_t space;

	who_history_init(&h, NR_EMPTY, NULL);
	map(&h, 10, 100, 0x1000, "a");
	map(&h, 20, 100, 0x1000, "b");
	space = space_of(&h, 100, 10);
	who_history_close(&h);
	who_history_split(&h, &(struct who_split){.space = space,
						  .to = clew_perf_ns_none(),
						  .times = times,
						  .nr_times = 2,
						  .patches = times,
						  .known_at = clew_perf_ns_none()});
	CHECK_EQ(h.spaces.data[space].versions.nr, 4, "a version from each replacement of code on");
	CHECK(!strcmp(path_at(&h, 100, 16, 0x1000), "a") &&
		      !strcmp(path_at(&h, 100, 26, 0x1000), "b"),
	      "each with the mappings of its time");
	CHECK(h.versions.data[version_at(&h, space, 26)].time.ns == 25 &&
		      h.versions.data[version_at(&h, space, 26)].patches == times,
	      "and the time up to which patches are in");
	who_history_done(&h);
}

static void test_ksymbol(void)
{
	const struct perf_mmap first = {
		.start = 0x1000, .len = 0x100, .filename = "one", .flags = WHO_MAP_IS_KSYMBOL};
	struct perf_mmap second = first;
	struct who_history h;

	second.filename = "two";
	who_history_init(&h, NR_EMPTY, NULL);
	map(&h, 5, WHO_NONE, 0x1000, "[kernel.kallsyms]");
	who_history_mmap(&h, at(10), true, &first);
	CHECK_EQ(h.spaces.data[h.kernel].versions.nr, 1,
		 "what KSYMBOL names takes the place of no file's code");
	who_history_mmap(&h, at(20), true, &second);
	CHECK_EQ(h.spaces.data[h.kernel].versions.nr, 2, "but of what another one named");
	who_history_done(&h);
}

static void test_budget(void)
{
	struct budget budget = {.limit = 100000};
	struct who_history h;
	uint64_t time = 0;

	who_history_init(&h, NR_EMPTY, &budget);
	while (!h.is_cut && time < 100000) {
		exec(&h, ++time, 100, "name");
		who_history_charge(&h, at(time), 0);
	}
	CHECK(h.is_cut && who_history_task(&h, 100, at(time - 1)) &&
		      !who_history_task(&h, 100, at(time)),
	      "nothing is known from where the budget was used up");
	who_history_done(&h);
	CHECK_EQ(budget.used, 0, "all of it goes back");
}

int main(void)
{
	test_timeline();
	test_spaces();
	test_numbers();
	test_split();
	test_ksymbol();
	test_budget();
	return tap_done();
}
