/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/hash.h"
#include "rows/report_feed_impl.h"

/* perf_mem_data_src. Spec: Linux 7.3 uapi/linux/perf_event.h, PERF_MEM_. */
enum {
	OP_LOAD = 2,
	OP_STORE = 4,
	LVL_REMOTE = 0xf00, /* RAM and caches, 1 and 2 hops */
	SNOOP_HITM = 0x10,
	TLB_MISS_WALK = 4 | 0x20,
	SNOOPX_PEER = 2,
};
static const uint64_t level_bits =
	(uint64_t)0x3fff << 5 | (uint64_t)0xf << 33 | (uint64_t)1 << 37 | (uint64_t)7 << 43;

static unsigned int bits(uint64_t v, unsigned int at, unsigned int mask)
{
	return (unsigned int)(v >> at) & mask;
}

/** One operation, of either origin. */
struct access {
	struct report_op_source source;
	uint64_t address, latencies[REPORT_NR_LATENCIES];
	uint32_t has_latency; /* bits by enum report_latency */
	bool is_load, is_store, is_remote, is_hitm, is_peer, is_walk;
	bool is_mispredicted, is_not_taken, is_at_least, has_address;
	bool is_not_retired;
	uint64_t nr;
};

static void set_latency(struct access *a, enum report_latency l, bool has, uint64_t v)
{
	a->latencies[l] = v;
	a->has_latency |= has ? 1u << l : 0;
}

static void take_data_src(struct access *a, uint64_t v)
{
	a->source.data_src = v & level_bits;
	a->is_load = bits(v, 0, 0x1f) & OP_LOAD;
	a->is_store = bits(v, 0, 0x1f) & OP_STORE;
	a->is_remote = bits(v, 37, 1) || bits(v, 5, 0x3fff) & LVL_REMOTE;
	a->is_hitm = bits(v, 19, 0x1f) & SNOOP_HITM;
	a->is_peer = bits(v, 38, 3) & SNOOPX_PEER;
	a->is_walk = (bits(v, 26, 0x7f) & TLB_MISS_WALK) == TLB_MISS_WALK;
}

static void of_op(struct access *a, const struct ana_op *op)
{
	uint32_t has = op->has;
	bool has_both = has & ANA_OP_HAS_TOTAL && has & ANA_OP_HAS_ISSUE && op->total >= op->issue;

	take_data_src(a, op->data_src);
	if (has & ANA_OP_HAS_SOURCE) {
		a->source.data_src = 0; /* of one source, loads and stores differ in it */
		a->source.has_number = 1;
		a->source.number = op->source;
		a->source.name = op->source_name;
	}
	a->is_remote |= (op->events & ANA_OP_REMOTE) != 0;
	a->is_hitm |= (op->events & ANA_OP_HITM) != 0;
	a->is_walk = op->events & ANA_OP_TLB_WALK;
	a->is_mispredicted = op->events & ANA_OP_MISPREDICTED;
	a->is_not_taken = op->events & ANA_OP_NOT_TAKEN;
	a->is_not_retired = has & ANA_OP_HAS_EVENTS && !(op->events & ANA_OP_RETIRED);
	a->is_at_least = has & (ANA_OP_TOTAL_IS_MIN | ANA_OP_ISSUE_IS_MIN | ANA_OP_XLAT_IS_MIN);
	a->has_address = has & ANA_OP_HAS_VA;
	a->address = op->va;
	set_latency(a, REPORT_TOTAL, has & ANA_OP_HAS_TOTAL, op->total);
	set_latency(a, REPORT_ISSUE, has & ANA_OP_HAS_ISSUE, op->issue);
	set_latency(a, REPORT_TRANSLATE, has & ANA_OP_HAS_XLAT, op->xlat);
	set_latency(a, REPORT_EXECUTE, has_both, has_both ? (uint64_t)op->total - op->issue : 0);
}

static void of_sample(struct access *a, const struct perf_sample *s)
{
	uint64_t has = s->sample_type;

	take_data_src(a, s->data_src);
	a->has_address = has & PERF_SAMPLE_ADDR && s->addr;
	a->address = s->addr;
	set_latency(a, REPORT_TOTAL,
		    has & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT) && s->weight, s->weight);
}

static bool is_wanted(const struct report_feed *f, const struct ana_event *e)
{
	const struct ana_op *op = e->op;

	if (f->opts.ops == REPORT_OPS_BRANCHES)
		return op && op->has & ANA_OP_HAS_KIND && op->kind == ANA_OP_BRANCH;
	return op ? op->data_src != 0
		  : !e->synth && e->sample->sample_type & PERF_SAMPLE_DATA_SRC &&
			       e->sample->data_src & (OP_LOAD | OP_STORE);
}

/* The events of one operation follow each other. */
static bool is_counted(struct feed_ops *o, const struct ana_event *e)
{
	bool is = e->op && o->has_last && o->last_offset == e->op->aux_offset &&
		  o->last_cpu == e->op->aux_cpu && o->last_ip == e->sample->ip;

	o->has_last = e->op != NULL;
	if (e->op) {
		o->last_offset = e->op->aux_offset;
		o->last_cpu = e->op->aux_cpu;
		o->last_ip = e->sample->ip;
	}
	return is;
}

static bool grow(struct feed_op_cells *t)
{
	size_t cap = t->cap ? 2 * t->cap : 256;
	uint32_t *slots = mem_calloc(cap, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < t->all.nr; i++) {
		const struct feed_op_cell *c = &t->all.data[i];
		size_t at = hash_two(c->a, (uint64_t)c->b << 32 | c->c) & (cap - 1);

		while (slots[at])
			at = (at + 1) & (cap - 1);
		slots[at] = (uint32_t)i + 1;
	}
	mem_free(t->slots);
	t->slots = slots;
	t->cap = cap;
	return true;
}

/* NULL: CLEW_NO_MEMORY or no room, *ret_err says which. */
static struct feed_op_cell *cell_of(struct report_feed *f, struct feed_op_cells *t, uint64_t a,
				    uint32_t b, uint32_t c, enum clew_err *ret_err)
{
	enum { MAX_CELLS = 64 << 20, HISTOGRAM_BYTES = 512 };
	size_t at;

	*ret_err = CLEW_NO_MEMORY;
	if (2 * (t->all.nr + 1) > t->cap && !grow(t))
		return NULL;
	at = hash_two(a, (uint64_t)b << 32 | c) & (t->cap - 1);
	for (; t->slots[at]; at = (at + 1) & (t->cap - 1)) {
		struct feed_op_cell *x = &t->all.data[t->slots[at] - 1];

		if (x->a == a && x->b == b && x->c == c)
			return x;
	}
	*ret_err = CLEW_LIMIT;
	if (t->all.nr >= MAX_CELLS ||
	    !budget_account_take(&f->account, 2 * sizeof(struct feed_op_cell) + HISTOGRAM_BYTES,
				 "rows of operations of"))
		return NULL;
	*ret_err = CLEW_NO_MEMORY;
	if (!vec_push(&t->all, (struct feed_op_cell){.a = a, .b = b, .c = c}))
		return NULL;
	t->slots[at] = (uint32_t)t->all.nr;
	return &t->all.data[t->all.nr - 1];
}

static bool add_latencies(struct report_op_sum *s, const struct access *a, uint32_t which)
{
	for (unsigned int i = 0; i < REPORT_NR_LATENCIES; i++) {
		if (a->has_latency & which & 1u << i &&
		    !latency_add_many(&s->latencies[i], a->latencies[i], a->nr))
			return false;
	}
	return true;
}

static bool add(struct report_op_sum *s, const struct access *a, uint32_t latencies)
{
	s->nr += a->nr;
	s->nr_loads += a->is_load ? a->nr : 0;
	s->nr_stores += a->is_store ? a->nr : 0;
	s->nr_remote += a->is_remote ? a->nr : 0;
	s->nr_hitm += a->is_hitm ? a->nr : 0;
	s->nr_remote_hitm += a->is_hitm && a->is_remote ? a->nr : 0;
	s->nr_peer += a->is_peer ? a->nr : 0;
	s->nr_walks += a->is_walk ? a->nr : 0;
	s->nr_mispredicted += a->is_mispredicted ? a->nr : 0;
	s->nr_not_taken += a->is_not_taken ? a->nr : 0;
	s->nr_at_least += a->is_at_least ? a->nr : 0;
	s->nr_not_retired += a->is_not_retired ? a->nr : 0;
	return add_latencies(s, a, latencies);
}

static uint32_t source_of(struct feed_ops *o, const struct report_op_source *s)
{
	uint32_t id;

	if (o->last_source_id && !memcmp(s, &o->last_source, sizeof(*s)))
		return o->last_source_id;
	id = intern_add(&o->sources, (const char *)s, sizeof(*s));
	if (id == INTERN_FAILED)
		return id;
	o->last_source = *s;
	return o->last_source_id = id;
}

static enum clew_err add_to(struct report_feed *f, struct feed_op_cells *t, const struct access *a,
			    const uint64_t key[3], uint32_t latencies)
{
	enum clew_err err;
	struct feed_op_cell *c = cell_of(f, t, key[0], (uint32_t)key[1], (uint32_t)key[2], &err);

	if (!c && err == CLEW_LIMIT) {
		f->ops.ret.nr_no_room += a->nr;
		return CLEW_OK;
	}
	return c && add(&c->sum, a, latencies) ? CLEW_OK : CLEW_NO_MEMORY;
}

static uint32_t frame_at(struct report_feed *f, const struct ana_event *e)
{
	static const struct feed_frame nowhere = {.rel = UINT64_MAX, .level = ANA_UNKNOWN};

	return e->loc ? feed_frame_of(f, e->loc) : feed_frame_add(&f->frames, &nowhere);
}

/* Addresses of the kernel are the same in all processes. */
static uint32_t pid_of(const struct ana_event *e, uint64_t address)
{
	return address >> 55 & 1 ? 0 : e->pid;
}

static bool is_chosen(const struct report_feed *f, uint32_t frame)
{
	const struct feed_frame *at = &f->frames.all.data[frame];

	return feed_is_listed(at, &f->opts) && feed_has_part(at, &f->opts);
}

static enum clew_err take(struct report_feed *f, const struct ana_event *e, uint32_t frame)
{
	struct access a = {.nr = 1 + e->nr_more};
	uint32_t source, key = feed_key(f, e, NULL);
	enum clew_err err;

	if (e->op)
		of_op(&a, e->op);
	else
		of_sample(&a, e->sample);
	if (f->opts.ops == REPORT_OPS_BRANCHES)
		a.source = (struct report_op_source){0};
	source = source_of(&f->ops, &a.source);
	if (key == REPORT_NONE || source == INTERN_FAILED)
		return CLEW_NO_MEMORY;
	err = add_to(f, &f->ops.code, &a, (const uint64_t[]){source, key, frame}, UINT32_MAX);
	if (err != CLEW_OK || !a.has_address || f->opts.ops == REPORT_OPS_BRANCHES)
		return err;
	return add_to(f, &f->ops.lines, &a,
		      (const uint64_t[]){a.address, pid_of(e, a.address), frame},
		      1u << REPORT_TOTAL);
}

enum clew_err feed_take_op(struct report_feed *f, struct report_event *ev,
			   const struct ana_event *e)
{
	uint32_t frame;

	if (!is_wanted(f, e) || is_counted(&f->ops, e))
		return CLEW_OK;
	frame = frame_at(f, e);
	if (frame == REPORT_NONE)
		return CLEW_NO_MEMORY;
	if (!is_chosen(f, frame))
		return CLEW_OK; /* nor in the tables: they are of the rows */
	ev->nr += 1 + e->nr_more;
	ev->period += feed_period(e);
	return take(f, e, frame);
}
