/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "make/etm_tracer_impl.h"
#include "make/splitmix.h"

uint64_t tracer_random(struct etm_tracer *t, uint64_t below)
{
	uint64_t x = splitmix64(&t->random);

	return below ? x % below : x;
}

bool tracer_chance(struct etm_tracer *t, unsigned int percent)
{
	return percent && tracer_random(t, 100) < percent;
}

bool tracer_varies(struct etm_tracer *t)
{
	return tracer_chance(t, t->opts.variety);
}

/* --- speculation --- */

void tracer_p0(struct etm_tracer *t, uint32_t n)
{
	t->depth += n;
	if (t->depth > t->config->max_spec)
		t->depth = t->config->max_spec; /* the oldest are committed by that */
}

static void commit(struct etm_tracer *t, uint32_t n)
{
	enc_commit(t->out, n);
	t->depth -= n;
	t->stats.nr_commits++;
}

static void commit_some(struct etm_tracer *t)
{
	if (!t->is_wrong && t->depth && tracer_chance(t, 30))
		commit(t, (uint32_t)tracer_random(t, t->depth) + 1);
}

static void commit_all(struct etm_tracer *t)
{
	if (t->depth)
		commit(t, t->depth);
}

/* --- atoms --- */

static void put_atoms(struct etm_tracer *t, const struct tracer_atom *a, unsigned int nr)
{
	uint64_t bits = 0;
	unsigned int used, format;

	for (unsigned int i = 0; i < nr; i++)
		bits |= (uint64_t)a[i].is_e << i;
	tracer_p0(t, nr);
	while (nr && t->opts.variety) {
		format = tracer_varies(t) ? 1 + (unsigned int)tracer_random(t, 6) : 6;
		used = enc_atoms_as(t->out, format, bits, nr);
		while (!used)
			used = enc_atoms_as(t->out, --format ? format : 1, bits, nr);
		bits >>= used;
		nr -= used;
	}
	enc_atoms(t->out, bits, nr);
}

/** The atom that ends the straight run from @p from on, if its address may stand for the run. */
static unsigned int run_to_source(struct etm_tracer *t, unsigned int from)
{
	unsigned int i = from;

	while (i < t->nr_atoms && !t->atoms[i].is_e)
		i++;
	return i < t->nr_atoms && t->atoms[i].has_address && tracer_chance(t, t->opts.sources)
		     ? i
		     : TRACER_ATOMS;
}

void tracer_flush_atoms(struct etm_tracer *t)
{
	unsigned int done = 0, source;

	for (unsigned int i = 0; i < t->nr_atoms; i++) {
		if (i && !t->atoms[i - 1].is_e)
			continue; /* not the first of a run */
		source = run_to_source(t, i);
		if (source == TRACER_ATOMS)
			continue;
		put_atoms(t, t->atoms + done, i - done);
		tracer_put_source(t, (struct etm_place){t->atoms[source].address,
							t->atoms[source].is1});
		done = source + 1;
		i = source;
	}
	put_atoms(t, t->atoms + done, t->nr_atoms - done);
	t->nr_atoms = 0;
	commit_some(t);
}

void tracer_add_atom(struct etm_tracer *t, const struct tracer_atom *a)
{
	if (t->nr_atoms == TRACER_ATOMS)
		tracer_flush_atoms(t);
	t->atoms[t->nr_atoms++] = *a;
	if (tracer_chance(t, t->opts.variety / 8))
		tracer_flush_atoms(t);
}

/* --- addresses and contexts --- */

static void remember(struct etm_tracer *t, struct etm_place a)
{
	t->history[2] = t->history[1];
	t->history[1] = t->history[0];
	t->history[0] = a;
}

static bool fits(const struct etm_tracer *t, enum enc_form form, struct etm_place a)
{
	uint64_t changed = t->history[0].address ^ a.address;
	unsigned int low = a.is1 ? 1 : 2, match = (unsigned int)(form - ENC_MATCH_0);

	switch (form) {
	case ENC_MATCH_0:
	case ENC_MATCH_1:
	case ENC_MATCH_2:
		return t->history[match].address == a.address && t->history[match].is1 == a.is1;
	case ENC_S1_IS0:
	case ENC_S1_IS1:
		return !(changed >> (low + 7));
	case ENC_S2_IS0:
	case ENC_S2_IS1:
		return !(changed >> (low + 15));
	case ENC_32_IS0:
	case ENC_32_IS1: /* the upper half: kept in AArch64, 0 in AArch32 */
		return !(changed >> 32) && (t->sent.sf || !(a.address >> 32));
	case ENC_64_IS0:
	case ENC_64_IS1:
		return true;
	case NR_ENC_FORMS:
		break;
	}
	return false;
}

static enum enc_form form_of(struct etm_tracer *t, struct etm_place a)
{
	static const enum enc_form order[2][7] = {
		{ENC_MATCH_0, ENC_MATCH_1, ENC_MATCH_2, ENC_S1_IS0, ENC_S2_IS0, ENC_32_IS0,
		 ENC_64_IS0},
		{ENC_MATCH_0, ENC_MATCH_1, ENC_MATCH_2, ENC_S1_IS1, ENC_S2_IS1, ENC_32_IS1,
		 ENC_64_IS1}
        };
	enum enc_form ret = NR_ENC_FORMS;

	for (unsigned int i = 0; i < 7; i++) {
		if (!fits(t, order[a.is1][i], a))
			continue;
		ret = order[a.is1][i];
		if (!tracer_varies(t))
			break;
	}
	return ret;
}

void tracer_put_address(struct etm_tracer *t, struct etm_place a)
{
	enc_address(t->out, form_of(t, a), a.address);
	remember(t, a);
	t->was_predicted = false;
	t->stats.nr_addresses++;
}

void tracer_put_source(struct etm_tracer *t, struct etm_place a)
{
	enc_source_address(t->out, form_of(t, a), a.address);
	remember(t, a);
	tracer_p0(t, 1);
	t->stats.nr_sources++;
}

/** The long form of a combined packet. Where the state changes, 64 bits: which of the two states
 * decides the upper half of 32 bits differs between specifications. */
static void put_both(struct etm_tracer *t, struct etm_place a, const struct enc_context *x)
{
	enum enc_form form = a.is1 ? ENC_32_IS1 : ENC_32_IS0;

	if (x->sf != t->sent.sf || !fits(t, form, a) || tracer_varies(t))
		form = a.is1 ? ENC_64_IS1 : ENC_64_IS0;
	enc_address_context(t->out, t->config, form, a.address, x);
	t->sent = *x;
	remember(t, a);
	t->was_predicted = false;
	t->stats.nr_addresses++;
}

static void put_context(struct etm_tracer *t, const struct enc_context *x)
{
	enc_context(t->out, t->config, x);
	t->sent = *x;
}

/** What waits is written; @p has_order: the context has to come before the address. */
static void put_place(struct etm_tracer *t, bool has_order)
{
	bool has_both = t->has_context && t->has_address;

	if (has_both && !tracer_varies(t)) {
		put_both(t, t->address, &t->context);
	} else if (has_both && !has_order && t->context.sf == t->sent.sf && tracer_varies(t)) {
		tracer_put_address(t, t->address);
		put_context(t, &t->context);
	} else {
		if (t->has_context)
			put_context(t, &t->context);
		else if (t->has_address && tracer_chance(t, t->opts.variety / 16))
			enc_context_same(t->out);
		if (t->has_address)
			tracer_put_address(t, t->address);
	}
	t->has_context = t->has_address = false;
}

static void flush(struct etm_tracer *t)
{
	tracer_flush_atoms(t);
	put_place(t, false);
}

static struct enc_context all_of(const struct etm_tracer *t, const struct enc_context *x)
{
	struct enc_context ret = *x;

	ret.has_vmid = t->config->vmid_bytes;
	ret.has_cid = t->config->cid_bytes;
	return ret;
}

/** Only what changed, or a bit more. */
static struct enc_context news_of(struct etm_tracer *t, const struct enc_context *x)
{
	struct enc_context ret = all_of(t, x);

	ret.has_vmid = ret.has_vmid && (x->vmid != t->sent.vmid || tracer_varies(t));
	ret.has_cid = ret.has_cid && (x->cid != t->sent.cid || tracer_varies(t));
	return ret;
}

/* --- synchronisation --- */

static void put_info(struct etm_tracer *t)
{
	struct enc_trace_info i = {.spec = t->depth, .cyct = t->opts.threshold};

	i.info = t->opts.has_counts ? ENC_INFO_CC : 0;
	i.sections = ENC_INFO | (t->depth ? ENC_SPEC : 0) | (t->opts.has_counts ? ENC_CYCT : 0);
	if (tracer_varies(t))
		i.sections |= (unsigned int)tracer_random(t, t->config->is_ete ? 32 : 16);
	if (!t->opts.has_counts)
		i.sections &= ~(unsigned int)ENC_CYCT;
	i.more_plctl = tracer_varies(t) ? (unsigned int)tracer_random(t, 3) : 0;
	i.field_bytes = tracer_varies(t) ? 5 : 0;
	i.key = i.wndw = (uint32_t)tracer_random(t, 1000);
	enc_trace_info(t->out, &i);
}

static void put_sync(struct etm_tracer *t)
{
	enc_async(t->out);
	put_info(t);
	t->is_synced = true;
	memset(t->history, 0, sizeof(t->history));
	t->timestamp = 0;
	t->stack_nr = 0;
	t->since_sync = 0;
	t->last_nr = t->out->nr;
	t->stats.nr_syncs++;
}

static void sync_here(struct etm_tracer *t)
{
	tracer_flush_atoms(t);
	if (!tracer_varies(t))
		put_place(t, false);
	put_sync(t);
	t->context = all_of(t, t->has_context ? &t->context : &t->sent);
	t->address = t->here;
	t->has_context = t->has_address = true;
	put_place(t, false);
}

static void sync_if_due(struct etm_tracer *t)
{
	t->since_sync += t->out->nr - (t->last_nr < t->out->nr ? t->last_nr : t->out->nr);
	t->last_nr = t->out->nr;
	if (t->opts.spares_opencsd && t->config->has_return_stack && t->config->max_spec)
		return;
	if (t->opts.sync_bytes && t->since_sync >= t->opts.sync_bytes && t->is_here)
		sync_here(t);
}

/* --- what is executed --- */

void etm_tracer_start(struct etm_tracer *t, struct etm_place at, const struct enc_context *x)
{
	struct enc_context now = all_of(t, x);

	tracer_flush_atoms(t);
	t->has_address = t->has_address && !tracer_varies(t); /* a target that is not traced */
	put_place(t, false);
	if (!t->is_synced)
		put_sync(t);
	enc_trace_on(t->out);
	t->stack_nr = 0;
	t->has_context = t->has_address = t->is_here = true;
	t->context = now;
	t->address = t->here = at;
}

static void push(struct etm_tracer *t, struct etm_place a)
{
	if (!t->stack_depth)
		return;
	if (t->stack_nr == t->stack_depth)
		memmove(t->stack, t->stack + 1, --t->stack_nr * sizeof(*t->stack));
	t->stack[t->stack_nr++] = a;
}

static bool predicts(const struct etm_tracer *t, const struct etm_waypoint *w)
{
	const struct etm_place *top = &t->stack[t->stack_nr - (t->stack_nr > 0)];

	return w->kind == ETM_WP_INDIRECT && !w->is_link && !w->is_eret && t->stack_nr &&
	       top->address == w->next.address && top->is1 == w->next.is1;
}

static void branch(struct etm_tracer *t, const struct etm_waypoint *w)
{
	bool is_predicted = predicts(t, w);

	if (w->is_eret && !t->config->is_ete) {
		tracer_flush_atoms(t);
		enc_except_rtn(t->out);
	}
	if (w->is_link)
		push(t, (struct etm_place){w->after, w->is1});
	t->has_address =
		!is_predicted && (w->kind == ETM_WP_INDIRECT || t->config->has_branch_broadcast);
	t->address = w->next;
	t->was_predicted = is_predicted;
	t->stack_nr -= is_predicted;
	t->stats.nr_predicted += is_predicted;
}

static bool is_wrong_here(struct etm_tracer *t)
{
	return t->config->max_spec > 1 && tracer_chance(t, t->opts.wrong);
}

void etm_tracer_waypoint(struct etm_tracer *t, const struct etm_waypoint *w)
{
	bool after_return = t->was_predicted;
	bool is_wrong = is_wrong_here(t);
	bool is_flipped = is_wrong && w->kind == ETM_WP_COND && tracer_chance(t, 70);
	struct tracer_atom a = {.address = w->address, .is1 = w->is1};

	if (t->has_context || t->has_address)
		flush(t);
	t->was_predicted = false;
	sync_if_due(t);
	a.is_e = w->is_taken ^ is_flipped;
	a.has_address = t->config->is_ete && !is_wrong &&
			(!after_return || t->opts.has_source_after_return);
	t->is_wrong = is_flipped; /* not to be committed */
	tracer_add_atom(t, &a);
	/* Sources stand for all N since the last E: none of them after a predicted return. */
	if (after_return && t->opts.sources && !w->is_taken)
		tracer_flush_atoms(t);
	t->stats.nr_waypoints++;
	t->is_here = true;
	t->here = w->next;
	if (is_wrong && is_flipped)
		tracer_wrong_path(t, true);
	if (w->is_taken && w->kind != ETM_WP_OTHER)
		branch(t, w);
	if (is_wrong && !is_flipped)
		tracer_wrong_path(t, false);
}

void etm_tracer_context(struct etm_tracer *t, const struct enc_context *x)
{
	struct enc_context now = news_of(t, x);

	if (t->has_context) { /* what waits has not been emitted */
		now.has_vmid |= t->context.has_vmid;
		now.has_cid |= t->context.has_cid;
	}
	if (t->was_predicted) {
		t->stack_nr++;
		t->has_address = true;
	}
	t->has_context = true;
	t->context = now;
}

/** What was just emitted is not where the branch went: it is not executed. */
static bool is_at_target(const struct etm_tracer *t, struct etm_place ret)
{
	if (t->opts.spares_opencsd && t->config->has_return_stack)
		return false;
	return t->has_address && !t->has_context && t->address.address == ret.address &&
	       t->address.is1 == ret.is1;
}

void etm_tracer_exception(struct etm_tracer *t, unsigned int type, struct etm_place ret)
{
	bool is_target = is_at_target(t, ret) && tracer_chance(t, 50);

	if (t->has_address && !is_target)
		flush(t);
	tracer_flush_atoms(t);
	enc_exception(t->out, type, is_target ? ENC_E_TARGET : ENC_E_RETURN, false,
		      tracer_varies(t) ? 2 : 0);
	t->has_address = true;
	t->address = ret;
	put_place(t, true);
	tracer_p0(t, 1);
	t->is_here = t->was_predicted = false;
	commit_some(t);
}

void etm_tracer_go(struct etm_tracer *t, struct etm_place at)
{
	t->has_address = t->is_here = true;
	t->address = t->here = at;
}

/** Before a packet that stands for itself: the address may come after it. */
static void flush_some(struct etm_tracer *t)
{
	tracer_flush_atoms(t);
	if (!tracer_varies(t))
		put_place(t, false);
	if (t->config->version >= 0x43 && tracer_chance(t, t->opts.variety / 16))
		enc_ignore(t->out);
}

void etm_tracer_timestamp(struct etm_tracer *t, uint64_t value, const uint32_t *count)
{
	unsigned int bytes = enc_timestamp_bytes(t->timestamp, value);

	flush_some(t);
	if (tracer_varies(t))
		bytes += (unsigned int)tracer_random(t, 10 - bytes);
	if (count)
		enc_timestamp_count(t->out, value, bytes, *count & 0xfff, tracer_varies(t) ? 3 : 0);
	else
		enc_timestamp(t->out, value, bytes);
	t->timestamp = value;
}

void etm_tracer_event(struct etm_tracer *t, unsigned int events)
{
	flush_some(t);
	enc_event(t->out, events);
}

/** How many P0 elements a cycle count commits: of what is there, where there is something. */
static uint32_t commits(struct etm_tracer *t)
{
	if (t->config->has_commopt || !t->depth)
		return 0;
	return (uint32_t)tracer_random(t, t->depth) + 1;
}

uint32_t etm_tracer_cycles(struct etm_tracer *t, uint32_t count)
{
	unsigned int bits = t->config->cc_bits < 21 ? t->config->cc_bits : 21;
	uint32_t most = (1u << bits) - 1, nr, max = t->config->max_spec;
	bool has_commit = !t->config->has_commopt;

	flush_some(t);
	count -= count < t->opts.threshold ? count : t->opts.threshold;
	count = count < most ? count : most;
	nr = commits(t);
	if (count < 4 && (!has_commit || (nr && nr <= 4)) && !tracer_varies(t))
		enc_count_f3(t->out, t->config, nr, count);
	else if (count < 16 && (!has_commit || (nr && nr <= 16)) && !tracer_varies(t))
		enc_count_f2(t->out, t->config, false, nr, count);
	else if (count < 16 && has_commit && nr && max >= 15 && nr >= max - 15)
		enc_count_f2(t->out, t->config, true, nr, count);
	else
		enc_count_f1(t->out, t->config, nr, count);
	t->depth -= nr;
	return count + t->opts.threshold;
}

void etm_tracer_flush(struct etm_tracer *t)
{
	flush(t);
	commit_all(t);
}

static void lose(struct etm_tracer *t)
{
	t->is_synced = t->is_here = false;
	t->depth = 0;
}

void etm_tracer_overflow(struct etm_tracer *t)
{
	etm_tracer_flush(t);
	enc_overflow(t->out);
	lose(t);
}

void etm_tracer_discard(struct etm_tracer *t)
{
	etm_tracer_flush(t);
	enc_discard(t->out);
	lose(t);
}

struct etm_tracer *etm_tracer_new(const struct etm_tracer_opts *opts)
{
	struct etm_tracer *t = mem_zalloc(sizeof(*t));
	const struct etm_config *c = opts->config;

	if (!t)
		return NULL;
	t->opts = *opts;
	t->config = c;
	t->out = opts->out;
	t->random = opts->seed;
	if (c->has_return_stack && !c->has_branch_broadcast)
		t->stack_depth =
			opts->stack_depth < TRACER_STACK ? opts->stack_depth : TRACER_STACK;
	if (!c->is_ete)
		t->opts.sources = 0;
	return t;
}

void etm_tracer_free(struct etm_tracer *t)
{
	mem_free(t);
}

const struct etm_tracer_stats *etm_tracer_stats(const struct etm_tracer *t)
{
	return &t->stats;
}
