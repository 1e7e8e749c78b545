/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/who_answer.h"

#include <stdio.h>

static bool has(const struct who_answer *a, uint32_t what)
{
	return a->has & what;
}

static void add_guest(struct buf *out, const struct who_answer *a)
{
	if (who_local_is_thread(a->machine))
		buf_printf(out, " guest:%d", a->machine.n);
	else
		buf_str(out, " guest:?");
	if (has(a, WHO_A_VCPU))
		buf_printf(out, " vcpu:%u%s", a->vcpu, has(a, WHO_A_VCPU_GUESSED) ? "?" : "");
	if (has(a, WHO_A_GUEST_ROOT))
		buf_printf(out, " G:%u", a->guest_root.n);
	if (has(a, WHO_A_GUEST_LOCAL))
		buf_printf(out, " GL:%u", a->guest_local.n);
	else if (!has(a, WHO_A_GUEST_ROOT) && a->kind != WHO_UNKNOWN)
		buf_str(out, " G:?");
}

/* Of each record: buf_printf() takes longer than all else. */

static void add_word(struct buf *out, const char *word)
{
	if (!word)
		return;
	buf_char(out, ' ');
	buf_str(out, word);
}

static void add_id(struct buf *out, const char *what, int64_t id)
{
	buf_str(out, what);
	if (id < 0)
		buf_char(out, '-');
	buf_dec(out, id < 0 ? (uint64_t)-id : (uint64_t)id, 0, ' ');
}

static void add_ids(struct buf *out, const struct who_answer *a)
{
	if (has(a, WHO_A_ROOT))
		add_id(out, " R:", a->root.n);
	else if (a->kind == WHO_OUTSIDE)
		buf_str(out, " R:?");
	if (has(a, WHO_A_LOCAL))
		add_id(out, " L:", a->local.n);
	if (has(a, WHO_A_SWITCHING))
		buf_printf(out, " %d>%d", a->candidates[0].n, a->candidates[1].n);
}

void who_answer_text(struct buf *out, const struct who_answer *a)
{
	if (!a) {
		buf_char(out, '-');
		return;
	}
	buf_str(out, who_kind_name(a->kind));
	buf_char(out, '/');
	buf_str(out, a->kind == WHO_UNKNOWN ? who_reason_name(a->reason)
					    : who_evidence_name(a->evidence));
	add_ids(out, a);
	if (has(a, WHO_A_GUEST))
		add_guest(out, a);
	add_word(out, who_level_name(a->level));
	add_word(out, who_answer_security(a));
}

static void put_flag(struct json_put *j, const char *key, bool is_set)
{
	if (!is_set)
		return;
	json_put_bool(j, key, true);
}

static void put_ids(struct json_put *j, const struct who_answer *a)
{
	if (has(a, WHO_A_ROOT))
		json_put_u64(j, "root", a->root.n);
	if (has(a, WHO_A_LOCAL))
		json_put_i64(j, "local", a->local.n);
	if (has(a, WHO_A_SWITCHING)) {
		json_key(j, "switching");
		json_open(j, '[');
		json_i64(j, a->candidates[0].n);
		json_i64(j, a->candidates[1].n);
		json_close(j, ']');
	}
	if (!has(a, WHO_A_THREAD))
		return;
	json_put_u64(j, "serial", a->serial);
	if (who_local_is_thread(a->pid))
		json_put_i64(j, "pid", a->pid.n);
	if (a->comm)
		json_put_string(j, "comm", a->comm);
}

static void put_machine(struct json_put *j, const struct who_answer *a)
{
	char text[32] = "host";

	if (has(a, WHO_A_GUEST) && who_local_is_thread(a->machine))
		snprintf(text, sizeof(text), "guest %d", (int)a->machine.n);
	else if (has(a, WHO_A_GUEST))
		snprintf(text, sizeof(text), "guest");
	json_put_string(j, "machine", text);
	if (has(a, WHO_A_VCPU))
		json_put_u64(j, "vcpu", a->vcpu);
	if (has(a, WHO_A_GUEST_ROOT))
		json_put_u64(j, "guest_root", a->guest_root.n);
	if (has(a, WHO_A_GUEST_LOCAL))
		json_put_u64(j, "guest_local", a->guest_local.n);
}

void who_answer_json(struct json_put *j, const struct who_answer *a)
{
	json_key(j, "who");
	json_open(j, '{');
	json_put_string(j, "kind", who_kind_name(a->kind));
	if (a->kind != WHO_UNKNOWN)
		json_put_string(j, "evidence", who_evidence_name(a->evidence));
	if (a->reason != WHO_REASON_NONE)
		json_put_string(j, "reason", who_reason_name(a->reason));
	put_ids(j, a);
	if (a->reason != WHO_WORLD)
		put_machine(j, a);
	if (who_level_name(a->level))
		json_put_string(j, "level", who_level_name(a->level));
	if (who_answer_security(a))
		json_put_string(j, "security", who_answer_security(a));
	put_flag(j, "may_be_several", has(a, WHO_A_MAY_BE_SEVERAL));
	put_flag(j, "stale_name", has(a, WHO_A_NAME_STALE));
	put_flag(j, "assumed_name", has(a, WHO_A_NAME_ASSUMED));
	put_flag(j, "vcpu_guessed", has(a, WHO_A_VCPU_GUESSED));
	put_flag(j, "clock_error", has(a, WHO_A_CLOCK_ERROR));
	json_close(j, '}');
}

static void add_count(struct buf *out, const char *what, uint64_t nr)
{
	if (!nr)
		return;
	buf_dec(out, nr, 12, ' ');
	buf_str(out, "  ");
	buf_str(out, what);
	buf_char(out, '\n');
}

static uint64_t sum_of(const struct who_counts *c)
{
	uint64_t nr = 0;

	for (int i = 0; i < WHO_NR_KINDS; i++)
		nr += c->by_kind[i];
	return nr;
}

static void add_guest_reasons(struct buf *out, const struct who_counts *c)
{
	uint64_t nr = 0;

	for (int i = 0; i < WHO_NR_REASONS; i++)
		nr += c->by_guest_reason[i];
	if (nr)
		buf_str(out, "in a guest, its thread unknown by reason:\n");
	for (int i = 0; i < WHO_NR_REASONS; i++)
		add_count(out, who_reason_name((enum who_reason)i), c->by_guest_reason[i]);
}

void who_counts_text(struct buf *out, const struct who_counts *a, const struct who_counts *b)
{
	struct who_counts sum = *a, *c = &sum;

	if (b)
		who_counts_join(&sum, b);
	if (!sum_of(c))
		return;
	buf_str(out, "\nWho ran:\n");
	buf_dec(out, sum_of(c), 12, ' ');
	buf_str(out, "  records\n");
	for (int i = 0; i < WHO_NR_KINDS; i++)
		add_count(out, who_kind_name((enum who_kind)i), c->by_kind[i]);
	buf_str(out, "known by evidence:\n");
	for (int i = 0; i < WHO_NR_EVIDENCE; i++)
		add_count(out, who_evidence_name((enum who_evidence)i), c->by_evidence[i]);
	if (c->by_kind[WHO_UNKNOWN])
		buf_str(out, "unknown by reason:\n");
	for (int i = 0; i < WHO_NR_REASONS; i++)
		add_count(out, who_reason_name((enum who_reason)i), c->by_reason[i]);
	if (c->nr_guest || c->nr_stale_names || c->nr_clock_errors)
		buf_str(out, "of all:\n");
	add_count(out, "in a guest", c->nr_guest);
	add_count(out, "with a name that may be out of date", c->nr_stale_names);
	add_count(out, "in a guest, its context equals the id of its own switches",
		  c->nr_guest_agree);
	add_count(
		out,
		"in a guest, the two differ: its recorder is in a container, or the offset is wrong",
		c->nr_guest_differ);
	add_count(out, "with a context that switches contradict: a clock error",
		  c->nr_clock_errors);
	add_guest_reasons(out, c);
}

static void add_fact(struct buf *out, const char *what, const struct who_proof *p)
{
	static const char *const values[] = {
		[WHO_FACT_UNKNOWN] = "unknown", [WHO_FACT_YES] = "yes", [WHO_FACT_NO] = "no"};

	buf_printf(out, "  %s: %s", what, values[p->is]);
	if (p->why)
		buf_printf(out, ", %s", p->why);
	if (p->has_example)
		buf_printf(out, " (%u and %u)", p->example[0], p->example[1]);
	buf_char(out, '\n');
}

void who_record_facts_text(struct buf *out, const struct perf_who_facts *recorded)
{
	struct who_facts f;

	who_facts_of_recorded(recorded, &f);
	buf_str(out, "\nThe recording:\n");
	add_fact(out, "made in the initial PID namespace", &f.is_root);
	add_fact(out, "ids of /proc are those of its records", &f.is_same_proc);
}

void who_facts_text(struct buf *out, const struct who_facts *f)
{
	buf_str(out, "\nThe recording:\n");
	add_fact(out, "made in the initial PID namespace", &f->is_root);
	add_fact(out, "contexts are of another PID namespace than its other ids", &f->is_mixture);
	add_fact(out, "ids of /proc are those of its records", &f->is_same_proc);
	add_fact(out, "times of the trace compare with those of records", &f->has_clock);
	if (who_level_name(f->kernel_level))
		buf_printf(out, "  level of the host's kernel: %s\n",
			   who_level_name(f->kernel_level));
	if (f->nr_agree || f->nr_zero || f->nr_differ || f->nr_outside)
		buf_printf(
			out,
			"  records inside of time slices: the context equals the switch's id in "
			"%llu, both are 0 in %llu, they differ in %llu, that id alone is 0 in %llu\n",
			(unsigned long long)f->nr_agree, (unsigned long long)f->nr_zero,
			(unsigned long long)f->nr_differ, (unsigned long long)f->nr_outside);
}
