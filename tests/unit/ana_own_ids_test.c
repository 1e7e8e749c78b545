/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Records and samples with the ids 0 and -1: of the idle task, of tasks outside, of dead ones. */
#include "analyze/ana_own_ids.h"

#include "make/perf_build.h"
#include "unit/analyze_made.h"
#include "unit/tap.h"

enum { SAMPLE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU };

static enum clew_err write_batch(void *ctx, const struct ana_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct ana_event *e = &b->events[i];

		if (e->sample || e->record.type == PERF_RECORD_COMM ||
		    e->record.type == PERF_RECORD_SWITCH_CPU_WIDE)
			buf_printf(ctx, "%s %d%s%s\n", e->comm ? e->comm : "-", (int)e->tid,
				   e->loc && e->loc->dso ? " mapped" : "",
				   e->who ? " by itself" : "");
	}
	return CLEW_OK;
}

/* With wants_who: each sample's answer. */
static enum clew_err write_who(void *ctx, const struct ana_batch *b)
{
	for (size_t i = 0; i < b->nr; i++) {
		const struct who_answer *a = b->events[i].who;

		if (!b->events[i].sample)
			continue;
		buf_printf(ctx, "%s %s", who_kind_name(a->kind),
			   a->kind == WHO_UNKNOWN ? who_reason_name(a->reason)
						  : who_evidence_name(a->evidence));
		if (a->has & WHO_A_ROOT)
			buf_printf(ctx, " R:%u", a->root.n);
		if (a->has & WHO_A_LOCAL)
			buf_printf(ctx, " L:%d", a->local.n);
		if (a->has & WHO_A_GUEST)
			buf_printf(ctx, " guest:%d", a->machine.n);
		buf_char(ctx, '\n');
	}
	return CLEW_OK;
}

static void put_view(struct perf_build *b, uint32_t type, uint16_t misc, uint64_t time,
		     uint32_t tid, const union perf_view *v)
{
	perf_build_view(b, type, misc, v,
			&(struct perf_sample_id){.time = time, .pid = tid, .tid = tid});
}

static void put_comm(struct perf_build *b, uint64_t time, uint32_t tid, const char *name)
{
	const union perf_view v = {
		.comm = {.pid = tid, .tid = tid, .comm = name}
        };

	put_view(b, PERF_RECORD_COMM, 0, time, tid, &v);
}

static void put_map(struct perf_build *b, uint64_t time, uint32_t pid)
{
	const union perf_view v = {
		.mmap = {.pid = pid,
			 .tid = pid,
			 .start = 0x1000,
			 .len = 0x1000,
			 .filename = "/no/such/file",
			 .is_mmap2 = true,
			 .prot = 5}
        };

	put_view(b, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, time, pid, &v);
}

static void put_sample(struct perf_build *b, uint64_t time, uint32_t tid, uint16_t mode)
{
	perf_build_sample(
		b, 0,
		&(struct perf_sample){
			.misc = mode, .ip = 0x1010, .time = time, .pid = tid, .tid = tid});
}

static void put_story(struct perf_build *b)
{
	union perf_view v;

	put_comm(b, 10, 0, "foreign");
	put_map(b, 11, 0);
	put_sample(b, 12, 0, PERF_RECORD_MISC_USER);
	put_sample(b, 13, 0, PERF_RECORD_MISC_KERNEL);
	put_comm(b, 14, UINT32_MAX, "dead");
	put_sample(b, 15, UINT32_MAX, PERF_RECORD_MISC_KERNEL);
	v = (union perf_view){
		.task = {.pid = 5, .tid = 5, .time = 20}
        };
	put_view(b, PERF_RECORD_FORK, 0, 20, 0, &v); /* its parent is outside */
	put_sample(b, 21, 5, PERF_RECORD_MISC_USER);
	v = (union perf_view){
		.sw = {.is_out = true, .has_other = true}
        };
	put_view(b, PERF_RECORD_SWITCH_CPU_WIDE, 0, 30, 0, &v);
	v.sw.is_preempt = true;
	put_view(b, PERF_RECORD_SWITCH_CPU_WIDE, 0, 31, 0, &v);
	v = (union perf_view){.sw = {.has_other = true}};
	put_view(b, PERF_RECORD_SWITCH_CPU_WIDE, 0, 40, 5, &v); /* to 5 */
	put_sample(b, 41, 5, PERF_RECORD_MISC_GUEST_USER);
	put_sample(b, 42, 6, PERF_RECORD_MISC_USER);
}

/* @p ns: PERF_WHO_NAMESPACE_UNKNOWN: the recording does not say. */
static void read_story(enum perf_who_namespace ns, bool wants_who, struct buf *out)
{
	struct perf_attr attr = {
		.sample_type = SAMPLE, .sample_period = 1, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	const struct perf_who_facts facts = {.recorder = ns, .ids = PERF_WHO_PROCFS_SAME};
	struct ana_opts opts = {
		.symbols = {.no_host_kernel = true}, .wants_records = true, .wants_who = wants_who};
	struct perf_build b = {0};
	struct ana_summary summary;
	struct buf who = {0};
	struct bytes file;

	perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
	perf_put_who_recorder(&who, &facts);
	if (ns)
		perf_build_bytes(&b, bytes_of(who.data, who.nr), true);
	put_story(&b);
	file = perf_build_finish(&b);
	analyze_made(&(struct perf_input){.data = file.pos, .size = bytes_left(&file)}, &opts,
		     (struct ana_consumer){wants_who ? write_who : write_batch, out}, &summary);
	perf_build_done(&b);
	buf_done(&who);
}

static void check_story(enum perf_who_namespace ns, bool wants_who, const char *want,
			const char *what)
{
	struct buf out = {0};

	read_story(ns, wants_who, &out);
	CHECK_STR(buf_cstr(&out), want, "%s", what);
	buf_done(&out);
}

/* PEBS gives an idle CPU the address 0, and takes user mode from it. */
static void check_nowhere(enum perf_who_namespace ns, uint64_t ip, const char *name,
			  const char *kind)
{
	struct perf_attr attr = {
		.sample_type = SAMPLE, .sample_period = 1, .flags = PERF_ATTR_SAMPLE_ID_ALL};
	const struct perf_who_facts facts = {.recorder = ns, .ids = PERF_WHO_PROCFS_SAME};
	struct buf who = {0}, out = {0}, want = {0};

	if (ns)
		perf_put_who_recorder(&who, &facts);
	for (int wants_who = 0; wants_who < 2; wants_who++) {
		struct ana_opts opts = {.symbols = {.no_host_kernel = true},
					.wants_outcomes = true,
					.wants_who = wants_who};
		struct perf_build b = {0};
		struct ana_summary summary;
		struct bytes file;

		perf_build_event(&b, &attr, "cycles", (uint64_t[]){7}, 1);
		if (ns)
			perf_build_bytes(&b, bytes_of(who.data, who.nr), true);
		perf_build_sample(
			&b, 0,
			&(struct perf_sample){.misc = PERF_RECORD_MISC_USER, .ip = ip, .time = 5});
		file = perf_build_finish(&b);
		analyze_made(&(struct perf_input){.data = file.pos, .size = bytes_left(&file)},
			     &opts,
			     (struct ana_consumer){wants_who ? write_who : write_batch, &out},
			     &summary);
		perf_build_done(&b);
	}
	buf_printf(&want, "%s\n%s\n", name, kind);
	CHECK_STR(buf_cstr(&out), buf_cstr(&want), "id 0 in user mode at %llx, namespace %d",
		  (unsigned long long)ip, ns);
	buf_done(&want);
	buf_done(&out);
	buf_done(&who);
}

int main(void)
{
	check_nowhere(PERF_WHO_NAMESPACE_INITIAL, 0, "swapper 0", "idle sample");
	check_nowhere(PERF_WHO_NAMESPACE_UNKNOWN, 0, "swapper 0", "idle-or-outside sample");
	check_nowhere(PERF_WHO_NAMESPACE_OTHER, 0, "[idle-or-outside] -1 by itself",
		      "idle-or-outside sample");
	check_nowhere(PERF_WHO_NAMESPACE_INITIAL, 0x1010, "swapper 0", "unknown conflict");
	check_nowhere(PERF_WHO_NAMESPACE_UNKNOWN, 0x1010, "[outside] -1 by itself",
		      "outside sample");
	check_story(
		PERF_WHO_NAMESPACE_INITIAL, false,
		"swapper 0\nswapper 0\nswapper 0\n- -1\n:-1 -1\n:5 5\nswapper 0\nswapper 0\n:5 5\n:5 5\n:6 6\n",
		"in the initial namespace 0 is the idle task, and keeps its name");
	check_story(PERF_WHO_NAMESPACE_OTHER, false,
		    "[outside] 0\n[outside] -1 by itself\n[idle-or-outside] -1 by itself\n"
		    "- -1\n:-1 -1\n:5 5\n[outside] 0\n[idle-or-outside] 0\n:5 5\n:5 5\n:6 6\n",
		    "elsewhere user code of 0 is outside, and what leaves a CPU without being "
		    "preempted");
	check_story(PERF_WHO_NAMESPACE_UNKNOWN, false,
		    "swapper 0\n[outside] -1 by itself\nswapper 0\n- -1\n:-1 -1\n:5 5\n"
		    "swapper 0\nswapper 0\n:5 5\n:5 5\n:6 6\n",
		    "without a word of the recorder, user code of 0 alone is outside");
	check_story(PERF_WHO_NAMESPACE_INITIAL, true,
		    "unknown conflict\nidle sample\nunknown dead\ntask sample R:5 L:5\n"
		    "task sample R:5 L:5 guest:5\nunknown conflict R:6 L:6\n",
		    "each sample's answer: a guest's, and one that switches contradict");
	check_story(PERF_WHO_NAMESPACE_OTHER, true,
		    "outside sample\nidle-or-outside sample\nunknown dead\ntask sample L:5\n"
		    "task sample L:5 guest:5\nunknown conflict L:6\n",
		    "and elsewhere, where ids are no root ids");
	CHECK(ana_is_idle_function("default_idle") && !ana_is_idle_function("schedule"),
	      "functions of an idle CPU");
	return tap_done();
}
