/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_who_facts.h"

#include "unit/tap.h"

enum { NR_TASKS = 6000, NR_CPUS = 5000 };

static const struct perf_who_facts recorder = {
	.recorder = PERF_WHO_NAMESPACE_OTHER,
	.proc = PERF_WHO_NAMESPACE_INITIAL,
	.ids = PERF_WHO_PROCFS_TRANSLATED,
	.pid_ns = 4026532000,
	.recorder_local = 2,
	.recorder_procfs = 840,
	.nr_translated = NR_TASKS / 2,
	.nr_omitted = 7,
};

/* Every second one has a local id. */
static struct perf_who_task task_of(uint32_t i)
{
	return (struct perf_who_task){1000 + i, i % 2 ? 0 : i + 1, i + 3, 2 + i % 3,
				      1ull << 32 | i};
}

static bool write_all(struct buf *out)
{
	struct perf_who_facts f = recorder;
	struct {
		VEC(struct perf_who_enabled);
	} cpus = {0};
	bool ok = true;

	for (uint32_t i = 0; i < NR_TASKS && ok; i++)
		ok = vec_push(&f.tasks, task_of(i));
	for (uint32_t i = 0; i < NR_CPUS && ok; i++)
		ok = vec_push(&cpus, ((struct perf_who_enabled){i, 100 + i}));
	perf_put_who_recorder(out, &f);
	perf_put_who_enabled(out, cpus.data, cpus.nr);
	perf_put_who_tasks(out, &f);
	vec_done(&cpus);
	perf_who_facts_done(&f);
	return ok && !out->is_failed;
}

static bool next(const struct buf *b, size_t *at, struct perf_record *ret)
{
	struct perf_event_header h;

	if (b->nr - *at < sizeof(h))
		return false;
	memcpy(&h, b->data + *at, sizeof(h));
	*ret = (struct perf_record){.data = (const uint8_t *)b->data + *at,
				    .type = h.type,
				    .size = h.size,
				    .offset = *at};
	*at += h.size;
	return h.size >= sizeof(h) && *at <= b->nr;
}

static enum clew_err read_all(const struct buf *b, struct perf_who_facts *f)
{
	enum clew_err err = CLEW_OK;
	struct perf_record r;
	size_t at = 0;

	while (err == CLEW_OK && next(b, &at, &r))
		err = perf_who_facts_take(f, &r);
	return err == CLEW_OK && at != b->nr ? CLEW_BAD_FILE : err;
}

static void round_trip(const struct buf *b)
{
	struct perf_who_facts f = {0};
	bool are_same = true;

	CHECK(read_all(b, &f) == CLEW_OK, "what was written is read");
	CHECK(f.has_recorder && f.recorder == recorder.recorder && f.proc == recorder.proc &&
		      f.ids == recorder.ids && f.pid_ns == recorder.pid_ns &&
		      f.recorder_local == 2 && f.recorder_procfs == 840,
	      "the recorder's namespace and ids");
	CHECK(f.nr_translated == NR_TASKS / 2 && f.nr_omitted == 7, "the counts of tasks");
	for (uint32_t i = 0; i < NR_TASKS && i < f.tasks.nr; i++) {
		struct perf_who_task want = task_of(i), got = f.tasks.data[i];

		are_same &= got.procfs == want.procfs && got.local == want.local &&
			    got.inner == want.inner && got.depth == want.depth &&
			    got.pid_ns == want.pid_ns;
	}
	CHECK(f.tasks.nr == NR_TASKS && are_same, "tasks of several records");
	CHECK(f.enabled.nr == NR_CPUS && f.enabled.data[4999].cpu == 4999 &&
		      f.enabled.data[4999].ns == 5099,
	      "enable times of several records");
	CHECK_EQ(perf_who_facts_root(&f, 3), 1002, "a root id by /proc of the initial namespace");
	CHECK_EQ(perf_who_facts_root(&f, 2), 0, "an id without a pair has no root id");
	f.proc = PERF_WHO_NAMESPACE_OTHER;
	CHECK_EQ(perf_who_facts_root(&f, 3), 0, "other ids of /proc are no root ids");
	f.recorder = PERF_WHO_NAMESPACE_INITIAL;
	CHECK_EQ(perf_who_facts_root(&f, 77), 77, "in the initial namespace all ids are root ids");
	CHECK_EQ(perf_who_facts_root(&f, 0), 0, "0 is no id");
	perf_who_facts_done(&f);
}

static void damage(const struct buf *b)
{
	struct perf_who_facts f = {0};
	struct perf_record r;
	size_t at = 0;
	uint32_t wrong = 99;
	bool has_cut_ok = false;

	next(b, &at, &r);
	for (uint16_t size = r.size; size-- > 8;) {
		r.size = size;
		has_cut_ok |= perf_who_facts_take(&f, &r) == CLEW_OK;
	}
	CHECK(!has_cut_ok && !f.has_recorder, "a record that was cut anywhere is none");
	memcpy(b->data + 24, &wrong, 4);
	r.size = (uint16_t)at;
	CHECK(perf_who_facts_take(&f, &r) == CLEW_BAD_FILE, "an impossible value");
	memcpy(b->data + 16, &wrong, 4);
	CHECK(perf_who_facts_take(&f, &r) == CLEW_UNSUPPORTED, "a kind of later");
	b->data[8] = 'x';
	CHECK(perf_who_facts_take(&f, &r) == CLEW_END, "a record of others");
	next(b, &at, &r);
	wrong = 0;
	memcpy((char *)b->data + r.offset + 20, &wrong, 4);
	CHECK(perf_who_facts_take(&f, &r) == CLEW_BAD_FILE && !f.enabled.nr,
	      "entries of no size are no entries");
	perf_who_facts_done(&f);
}

int main(void)
{
	struct buf b = {0};

	CHECK(write_all(&b), "records are written");
	round_trip(&b);
	damage(&b);
	buf_done(&b);
	return tap_done();
}
