/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/perf/trace_ran.h"

#include <string.h>

#include "perfdata/perf_format.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/trace_threads.h"
#include "trace/trace_decode.h"

/* --- side-band --- */

static void look_for_sched(struct perf_trace *p)
{
	struct trace_ran *r = &p->ran;
	struct bytes text;
	uint32_t size;

	r->has_sched =
		perf_format_find(perf_file_features(p->file)->section[PERF_FEAT_TRACING_DATA],
				 "sched_switch", &text, &r->sched_id) &&
		perf_format_field(text, "prev_pid", &r->prev_at, &size) && size == 4 &&
		perf_format_field(text, "next_pid", &r->next_at, &size) && size == 4;
}

enum clew_err trace_ran_init(struct perf_trace *p)
{
	p->ran.rule = who_ran_new(&p->history);
	if (!p->ran.rule)
		return CLEW_NO_MEMORY;
	look_for_sched(p);
	return CLEW_OK;
}

void trace_ran_done(struct trace_ran *r)
{
	who_ran_free(r->rule);
	mem_free(r->memos);
}

enum clew_err trace_ran_begin(struct perf_trace *p)
{
	const struct perf_who_facts *f = perf_file_who_facts(p->file);

	for (; p->ran.nr_begun < f->enabled.nr; p->ran.nr_begun++) {
		const struct perf_who_enabled *e = &f->enabled.data[p->ran.nr_begun];

		if (!who_ran_begin_cpu(p->ran.rule, e->cpu, (struct clew_perf_ns){e->ns}))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

static bool has_field(const struct bytes *raw, uint32_t at)
{
	return bytes_left(raw) >= 4 && at <= bytes_left(raw) - 4;
}

static enum clew_err take_sched(struct perf_trace *p, const struct perf_record *r,
				const struct perf_evsel *e, struct who_ran_stamp *stamp)
{
	const struct trace_ran *t = &p->ran;
	struct perf_sample s;

	if (!t->has_sched || e->attr.type != PERF_TYPE_TRACEPOINT ||
	    e->attr.config != t->sched_id ||
	    perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &s) ||
	    !has_field(&s.raw, t->prev_at) || !has_field(&s.raw, t->next_at))
		return CLEW_OK;
	stamp->cpu = s.cpu;
	stamp->pid = s.pid;
	stamp->tid = s.tid;
	return who_ran_take_sched(t->rule,
				  (struct who_root_id){load_u32(s.raw.pos + t->prev_at, r->swap)},
				  (struct who_root_id){load_u32(s.raw.pos + t->next_at, r->swap)},
				  stamp);
}

/** Units of a flow do not ask. The description comes before all else; where not, it may follow. */
static bool is_of_use(const struct perf_trace *p)
{
	return !p->nr_protocols || perf_trace_protocol(p, &units_spe) < p->nr_protocols;
}

enum clew_err trace_ran_take(struct perf_trace *p, const struct perf_record *r,
			     const struct perf_evsel *e, const struct perf_sample_id *id,
			     struct clew_perf_ns time)
{
	struct who_ran_stamp stamp = {.time = time,
				      .cpu = id->cpu,
				      .pid = id->pid,
				      .tid = id->tid,
				      .has_time = p->has_clock};

	if (!e || !is_of_use(p))
		return CLEW_OK;
	stamp.is_inherited = perf_attr_has(&e->attr, PERF_ATTR_INHERIT);
	stamp.has_clockid = perf_attr_has(&e->attr, PERF_ATTR_USE_CLOCKID);
	if (r->type == PERF_RECORD_SAMPLE)
		return take_sched(p, r, e, &stamp);
	return who_ran_takes(r->type) ? who_ran_take(p->ran.rule, r, &stamp) : CLEW_OK;
}

/* --- questions --- */

static enum who_security security_of(uint8_t security)
{
	static const enum who_security of[] = {[CODE_SECURE] = WHO_SECURE,
					       [CODE_NONSECURE] = WHO_NONSECURE,
					       [CODE_ROOT] = WHO_ROOT,
					       [CODE_REALM] = WHO_REALM};

	return of[security & 3];
}

static void add_chunk(const struct perf_trace *p, const struct aux_chunk *c, struct who_question *q)
{
	q->owner = c->owner;
	q->has |= WHO_Q_OWNER;
	if (!p->has_clock)
		return;
	q->to = c->time;
	q->from = c->since;
	q->has |= WHO_Q_TO | (c->since.ns ? (uint32_t)WHO_Q_FROM : 0);
}

static void add_context(const struct code_arm_context *c, struct who_question *q)
{
	q->level = (enum who_level)(c->el & 3);
	q->security = security_of(c->security);
	q->context_el1 = c->cid;
	q->context_el2 = c->vmid;
	q->has |= (c->has_cid ? (uint32_t)WHO_Q_CONTEXT_EL1 : 0) |
		  (c->has_vmid ? (uint32_t)WHO_Q_CONTEXT_EL2 : 0);
}

static struct who_question question_of(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *k)
{
	const struct trace_unit *u = &p->units.data[unit];
	const struct aux_chunk *chunk = trace_chunk_of(p, unit, k->bound);
	struct who_question q = {.cpu = u->cpu, .world = WHO_WORLD_OF_SPE, .ticks = k->ticks};

	q.has = u->cpu != AUX_NONE ? (uint32_t)WHO_Q_CPU : 0;
	if (u->tid != AUX_NONE) {
		q.has |= WHO_Q_QUEUE;
		q.queue = who_local_id_of(u->tid);
	}
	q.has |= k->ticks.ticks ? (uint32_t)WHO_Q_TICKS : 0;
	add_context(&k->context.arm, &q);
	if (chunk)
		add_chunk(p, chunk, &q);
	return q;
}

static bool is_same(const struct code_key *a, const struct code_key *b)
{
	const struct code_arm_context *x = &a->context.arm, *y = &b->context.arm;

	return a->ticks.ticks == b->ticks.ticks && a->bound.ns == b->bound.ns && x->el == y->el &&
	       x->security == y->security && x->has_cid == y->has_cid &&
	       x->has_vmid == y->has_vmid && x->cid == y->cid && x->vmid == y->vmid;
}

const struct who_answer *trace_ran_ask(const struct perf_trace *p, uint32_t unit,
				       const struct code_key *key)
{
	struct trace_ran_memo *m = &p->ran.memos[unit];
	struct who_question q;

	if (m->has_answer && is_same(&m->key, key))
		return &m->answer;
	q = question_of(p, unit, key);
	who_ran_ask(p->ran.rule, &m->cursor, &q, &m->answer);
	m->key = *key;
	m->has_answer = true;
	return &m->answer;
}

/* --- what the trace itself proves --- */

struct noting {
	struct perf_trace *p;
	struct who_notes *notes;
};

static enum clew_err note_ops(void *ctx, size_t unit, const struct trace_ops_batch *b)
{
	struct noting *n = ctx;
	struct trace_ran *r = &n->p->ran;

	for (size_t i = 0; i < b->nr; i++) {
		const struct code_key key = trace_op_key(&b->ops[i], b->bound);
		struct who_question q = question_of(n->p, (uint32_t)unit, &key);

		if (!who_ran_note(r->rule, n->notes, &r->memos[unit].cursor, &q))
			return CLEW_NO_MEMORY;
	}
	return CLEW_OK;
}

/** Units of operations alone: the others do not ask yet. */
static enum clew_err note_all(struct perf_trace *p, const bool *skips)
{
	struct noting n = {p, who_notes_new()};
	const struct trace_decode_opts opts = {
		.nr_threads = 1, .skips = skips, .ops = note_ops, .ctx = &n};
	enum clew_err err = n.notes ? trace_decode(&p->trace, &opts, NULL) : CLEW_NO_MEMORY;

	if (!err && !who_ran_add_notes(p->ran.rule, n.notes))
		err = CLEW_NO_MEMORY;
	who_notes_free(n.notes);
	return err;
}

enum clew_err trace_ran_close(struct perf_trace *p)
{
	bool *skips = mem_calloc(p->units.nr + 1, sizeof(*skips)), has_some = false;
	enum clew_err err = CLEW_OK;

	p->ran.memos = mem_calloc(p->units.nr + 1, sizeof(*p->ran.memos));
	if (!skips || !p->ran.memos)
		err = CLEW_NO_MEMORY;
	for (size_t i = 0; !err && i < p->units.nr; i++) {
		const struct trace_unit *u = &p->units.data[i];

		p->ran.memos[i].is_asked = u->decoder && u->decoder->ops;
		skips[i] = !p->ran.memos[i].is_asked;
		has_some |= !skips[i];
	}
	if (!err && has_some && !who_ran_take_facts(p->ran.rule, perf_file_who_facts(p->file)))
		err = CLEW_NO_MEMORY;
	if (!err && has_some && p->has_time_conv)
		who_ran_set_clock(p->ran.rule, &p->time_conv);
	if (!err && has_some)
		err = who_ran_close(p->ran.rule);
	if (!err && has_some)
		err = note_all(p, skips);
	if (!err && has_some)
		err = who_ran_settle(p->ran.rule);
	mem_free(skips);
	return err;
}
