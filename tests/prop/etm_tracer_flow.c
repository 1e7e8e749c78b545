/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/vec.h"
#include "flow/etm/etm_flow.h"
#include "image/code_map.h"
#include "make/etm_snapshot_make.h"
#include "make/etm_tracer.h"
#include "make/splitmix.h"
#include "unit/tap.h"

/*
 * Random programs, traced by the trace unit of tests/make and decoded again: the instructions, the
 * context of each, timestamps and cycle counts have to be those that were executed. Each run is
 * another unit, with other choices.
 * With an argument: write runs that OpenCSD can decode as snapshots into that directory, instead.
 */

enum {
	NR_WORDS = 3000,
	NR_STEPS = 30000,
	NR_SHORT_STEPS = 3000,
	NR_RUNS = 60,
	EXC_CALL = 2,
	EXC_IRQ = 14
};
static const uint64_t bases[2] = {0x40000000, 0xffff000008000000};
enum { A64_NOP = 0xd503201f, A64_ISB = 0xd5033fdf, A64_RET = 0xd65f03c0, A64_ERET = 0xd69f03e0 };
enum { A64_BR = 0xd61f0000, A64_BLR = 0xd63f0000, A64_SVC = 0xd4000001 };

struct fact {
	uint64_t value; /* address; timestamp; count */
	uint32_t cid;
	uint8_t el, what;
};
enum { FACT_INSN, FACT_TIMESTAMP, FACT_COUNT, FACT_EXCEPTION };
struct facts {
	VEC(struct fact);
};

static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	return (uint32_t)splitmix64(&seed) % below;
}

static uint32_t code[2][NR_WORDS];

static uint32_t any_word(uint32_t i)
{
	int32_t to = (int32_t)rnd(NR_WORDS) - (int32_t)i;
	uint32_t imm = (uint32_t)to, kind = rnd(100);

	if (i == NR_WORDS - 1)
		return 0x14000000 | (-i & 0x3ffffff);
	if (kind < 55)
		return A64_NOP;
	if (kind < 75)
		return 0x54000000 | (imm & 0x7ffff) << 5 | rnd(14);
	if (kind < 80)
		return 0x14000000 | (imm & 0x3ffffff);
	if (kind < 86)
		return 0x94000000 | (imm & 0x3ffffff);
	if (kind < 92)
		return A64_RET;
	return (const uint32_t[]){A64_BR,  A64_BR,   A64_BLR, A64_BLR,
				  A64_ISB, A64_ERET, A64_SVC, A64_SVC}[kind - 92];
}

static uint64_t any_address(void)
{
	return bases[rnd(2)] + 4 * rnd(NR_WORDS);
}

static uint32_t word_at(uint64_t pc)
{
	int i = pc >= bases[1];

	return code[i][(pc - bases[i]) / 4];
}

/* --- execution --- */

struct pe {
	struct etm_tracer *t;
	struct facts facts;
	size_t known; /* facts that the trace has reported */
	uint64_t pc, calls[32], time;
	unsigned int nr_calls;
	struct enc_context x;
	bool has_counts;
};

static void note(struct pe *p, uint8_t what, uint64_t value)
{
	if (!vec_push(&p->facts, (struct fact){value, p->x.cid, p->x.el, what}))
		abort();
}

static void start(struct pe *p)
{
	etm_tracer_start(p->t, (struct etm_place){p->pc, false}, &p->x);
}

static void change_context(struct pe *p, bool is_el)
{
	if (is_el)
		p->x.el = (uint8_t)rnd(2);
	if (rnd(2))
		p->x.cid = rnd(3) * 0x1111;
	etm_tracer_context(p->t, &p->x);
}

static void except(struct pe *p, unsigned int type, uint64_t ret)
{
	etm_tracer_exception(p->t, type, (struct etm_place){ret, false});
	note(p, FACT_EXCEPTION, ret);
	p->known = p->facts.nr;
	p->pc = any_address();
	if (rnd(8)) {
		etm_tracer_go(p->t, (struct etm_place){p->pc, false});
		if (rnd(4))
			change_context(p, true);
	} else {
		start(p); /* the handler is not traced */
	}
}

static int64_t offset_of(uint32_t word)
{
	if (word >> 24 == 0x54)
		return ((int64_t)(int32_t)(word << 8) >> 13) * 4;
	return ((int64_t)(int32_t)(word << 6) >> 6) * 4;
}

static uint64_t indirect_target(struct pe *p, uint32_t word)
{
	if (word == A64_RET && p->nr_calls && rnd(10))
		return p->calls[--p->nr_calls];
	return any_address();
}

static void call(struct pe *p)
{
	if (p->nr_calls == 32)
		memmove(p->calls, p->calls + 1, --p->nr_calls * sizeof(*p->calls));
	p->calls[p->nr_calls++] = p->pc + 4;
}

static void waypoint(struct pe *p, uint32_t word)
{
	struct etm_waypoint w = {
		.address = p->pc, .after = p->pc + 4, .is_taken = true, .next.address = p->pc + 4};

	if (word >> 24 == 0x54) {
		w.kind = ETM_WP_COND;
		w.is_taken = rnd(2);
		w.next.address = w.is_taken ? p->pc + (uint64_t)offset_of(word) : p->pc + 4;
	} else if ((word & 0x7c000000) == 0x14000000) {
		w.kind = ETM_WP_DIRECT;
		w.is_link = word >> 31;
		w.next.address = p->pc + (uint64_t)offset_of(word);
	} else if (word == A64_ISB) {
		w.kind = ETM_WP_OTHER;
	} else {
		w.kind = ETM_WP_INDIRECT;
		w.is_link = word == A64_BLR;
		w.is_eret = word == A64_ERET;
		w.next.address = indirect_target(p, word);
	}
	if (w.is_link)
		call(p);
	etm_tracer_waypoint(p->t, &w);
	note(p, FACT_INSN, p->pc);
	p->known = p->facts.nr;
	p->pc = w.next.address;
	if (w.is_eret || (w.kind != ETM_WP_COND && !rnd(20)))
		change_context(p, w.is_eret);
}

/** Between two instructions, after a waypoint. */
static void something(struct pe *p)
{
	p->time += rnd(1000);
	switch (rnd(12)) {
	case 0:
		etm_tracer_timestamp(p->t, p->time, NULL);
		note(p, FACT_TIMESTAMP, p->time);
		break;
	case 1:
	case 2:
		if (p->has_counts)
			note(p, FACT_COUNT, etm_tracer_cycles(p->t, rnd(rnd(2) ? 20 : 3000)));
		break;
	case 3:
		etm_tracer_event(p->t, 1 + rnd(15));
		break;
	case 4:
		if (!rnd(30)) {
			etm_tracer_overflow(p->t);
			start(p);
		} else if (!rnd(30)) {
			etm_tracer_discard(p->t);
			start(p);
		}
		break;
	case 5: /* a part is filtered out */
		if (!rnd(20)) {
			p->pc = any_address();
			start(p);
		}
		break;
	default:
		return;
	}
	p->known = p->facts.nr;
}

static void run(struct pe *p, int nr_steps)
{
	uint32_t word;

	p->pc = any_address();
	start(p);
	for (int i = 0; i < nr_steps; i++) {
		word = word_at(p->pc);
		if (!rnd(200)) {
			except(p, EXC_IRQ, p->pc);
		} else if (word == A64_NOP || word == A64_SVC) {
			note(p, FACT_INSN, p->pc);
			p->pc += 4;
			if (word == A64_SVC)
				except(p, EXC_CALL, p->pc);
		} else {
			waypoint(p, word);
			something(p);
		}
	}
	etm_tracer_flush(p->t);
	p->facts.nr = p->known;
}

/* --- decoding --- */

struct decoded {
	struct facts facts;
	struct fact now; /* context */
	uint64_t nr_lost;
	const char *why;
};

static void got(struct decoded *d, uint8_t what, uint64_t value)
{
	d->now.what = what;
	d->now.value = value;
	if (!vec_push(&d->facts, d->now))
		abort();
}

static void got_event(struct decoded *d, const struct flow_event *e)
{
	if (e->kind == FLOW_EV_CONTEXT) {
		d->now.el = e->context.arm.el;
		d->now.cid = e->context.arm.cid;
	} else if (e->kind == FLOW_EV_TIMESTAMP) {
		got(d, FACT_TIMESTAMP, e->value);
	} else if (e->kind == FLOW_EV_CYCLES) {
		got(d, FACT_COUNT, e->count);
	} else if (e->kind == FLOW_EV_EXCEPTION) {
		got(d, FACT_EXCEPTION, e->address);
	} else if (e->kind == FLOW_EV_NO_SYNC && e->what) {
		d->nr_lost++;
		d->why = e->what;
	}
	for (uint64_t a = e->address; e->kind == FLOW_EV_RANGE && a < e->end; a += 4)
		got(d, FACT_INSN, a);
}

static enum clew_err batch(void *ctx, const struct flow_batch *b)
{
	struct decoded *d = ctx;

	for (size_t i = 0; i < b->nr; i++) {
		const struct flow_block *k = &b->blocks[b->items[i] >> 1];

		if (b->items[i] & FLOW_ITEM_EVENT) {
			got_event(d, &b->events[b->items[i] & ~(uint32_t)FLOW_ITEM_EVENT]);
			continue;
		}
		for (uint64_t a = k->start; a < k->start + k->bytes; a += 4)
			got(d, FACT_INSN, a);
	}
	return CLEW_OK;
}

static bool decode(struct decoded *d, const struct etm_config *c, const struct buf *trace)
{
	struct code_map *map = code_map_new();
	struct etm_flow_opts o = {.config = c, .flow.batch = batch, .flow.ctx = d};
	struct flow *f;
	bool ok;

	if (!map)
		return false;
	for (int i = 0; i < 2; i++)
		code_map_add(map, bases[i], (const uint8_t *)code[i], sizeof(code[i]),
			     CODE_SEEN_BY_ALL);
	o.flow.code = code_map_source(map);
	f = o.flow.code ? etm_flow_new(&o) : NULL;
	ok = f && !flow_feed(f, bytes_of(trace->data, trace->nr)) && !flow_finish(f);
	flow_free(f);
	code_map_free(map);
	return ok;
}

static bool same(const struct fact *a, const struct fact *b, bool has_context)
{
	return a->what == b->what && a->value == b->value &&
	       (!has_context || a->what != FACT_INSN || (a->cid == b->cid && a->el == b->el));
}

static void compare(const struct facts *want, const struct decoded *d, int i)
{
	size_t nr = want->nr < d->facts.nr ? want->nr : d->facts.nr, at = 0;

	while (at < nr && same(&want->data[at], &d->facts.data[at], true))
		at++;
	CHECK(at == want->nr && at == d->facts.nr, "run %d: %zu facts", i, want->nr);
	if (at == want->nr && at == d->facts.nr)
		return;
	printf("# %zu of %zu, decoded %zu, lost %llu (%s)\n", at, want->nr, d->facts.nr,
	       (unsigned long long)d->nr_lost, d->why ? d->why : "");
	for (size_t k = at > 3 ? at - 3 : 0; k < at + 3 && k < nr; k++)
		printf("# want %d %llx el%d cid %x; got %d %llx el%d cid %x\n", want->data[k].what,
		       (unsigned long long)want->data[k].value, want->data[k].el, want->data[k].cid,
		       d->facts.data[k].what, (unsigned long long)d->facts.data[k].value,
		       d->facts.data[k].el, d->facts.data[k].cid);
}

static struct etm_config any_config(void)
{
	static const uint32_t depths[] = {0, 0, 1, 2, 5, 16, 32, 120};
	struct etm_regs r = {.traceidr = 0x10, .idr1 = 0x41000400 | rnd(7) << 4};
	struct etm_config ret;

	r.is_ete = rnd(2);
	r.devarch = 0x47705a13;
	r.configr = 1 | (rnd(3) ? 1 << 12 : 0) | (rnd(5) ? 0 : 1 << 3);
	r.idr0 = 1u << 7 | (rnd(2) ? 1u << 29 : 0);
	r.idr2 = 4 << 5 | 8 | (rnd(2) ? (r.is_ete || r.idr1 & 0xf0 ? 4 : 1) << 10 : 0);
	r.idr8 = depths[rnd(8)];
	if (etm_config_init(&ret, &r, NULL))
		abort();
	return ret;
}

static struct etm_tracer_opts any_opts(const struct etm_config *c, struct buf *trace)
{
	return (struct etm_tracer_opts){.config = c,
					.out = trace,
					.seed = seed,
					.threshold = rnd(3) * 8,
					.has_counts = rnd(2),
					.sync_bytes = rnd(2) ? 50 + rnd(1000) : 0,
					.stack_depth = (uint8_t)(1 + rnd(16)),
					.variety = rnd(3) ? (uint8_t)rnd(60) : 0,
					.wrong = (uint8_t)rnd(20),
					.sources = rnd(2) ? (uint8_t)rnd(60) : 0,
					.has_wrong_targets = rnd(2),
					.has_source_after_return = rnd(2)};
}

static void spare_opencsd(struct etm_tracer_opts *o)
{
	o->spares_opencsd = true;
	o->has_counts = o->has_counts && o->config->has_commopt;
	o->has_wrong_targets = o->has_source_after_return = false;
}

static void any_code(int i)
{
	seed = (uint64_t)i * 1000003 + 1;
	for (uint32_t k = 0; k < 2 * NR_WORDS; k++)
		code[k / NR_WORDS][k % NR_WORDS] = any_word(k % NR_WORDS);
}

/** Run @p i, traced. */
static struct facts trace_run(int i, const struct etm_tracer_opts *o, int nr_steps)
{
	struct pe p = {
		.x = {.sf = true, .ns = true},
                  .has_counts = o->has_counts
        };

	any_code(i);
	p.t = etm_tracer_new(o);
	if (!p.t)
		abort();
	run(&p, nr_steps);
	printf("# v%02x spec %u%s%s variety %d: %zu bytes, %llu predicted, %llu wrong, %llu sources\n",
	       o->config->version, o->config->max_spec, o->config->has_commopt ? " commopt" : "",
	       o->config->has_branch_broadcast ? " bb" : "", o->variety, o->out->nr,
	       (unsigned long long)etm_tracer_stats(p.t)->nr_predicted,
	       (unsigned long long)etm_tracer_stats(p.t)->nr_wrong,
	       (unsigned long long)etm_tracer_stats(p.t)->nr_sources);
	etm_tracer_free(p.t);
	return p.facts;
}

static void one(int i)
{
	struct etm_config config = any_config();
	struct buf trace = {0};
	struct etm_tracer_opts o = any_opts(&config, &trace);
	struct facts facts = trace_run(i, &o, NR_STEPS);
	struct decoded d = {0};

	if (decode(&d, &config, &trace))
		compare(&facts, &d, i);
	else
		CHECK(false, "run %d decodes", i);
	vec_done(&facts);
	vec_done(&d.facts);
	buf_done(&trace);
}

static bool write_one(const char *top, int i)
{
	struct etm_config config = any_config();
	struct buf trace = {0};
	struct etm_tracer_opts o = any_opts(&config, &trace);
	struct etm_snapshot_code dumps[2];
	struct facts facts;
	char dir[4000];
	bool ok;

	spare_opencsd(&o);
	facts = trace_run(i, &o, NR_SHORT_STEPS);
	for (int k = 0; k < 2; k++)
		dumps[k] = (struct etm_snapshot_code){bases[k], code[k], sizeof(code[k])};
	snprintf(dir, sizeof(dir), "%s/run-%02d", top, i);
	ok = etm_snapshot_make(dir, &config, &trace, dumps, 2);
	vec_done(&facts);
	buf_done(&trace);
	return ok;
}

int main(int argc, char **argv)
{
	bool ok = true;

	for (int i = 0; ok && i < NR_RUNS; i++) {
		if (argc > 1)
			ok = write_one(argv[1], i);
		else
			one(i);
	}
	return argc > 1 ? !ok : tap_done();
}
