/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/enc_unit.h"

#include <string.h>

static bool one_in(struct enc_unit *u, uint32_t n)
{
	return u->random && etm_random_one_in(u->random, n);
}

static void send_atoms(struct enc_unit *u, unsigned int nr)
{
	uint64_t bits = u->atoms & (nr < 64 ? ((uint64_t)1 << nr) - 1 : UINT64_MAX);

	u->atoms = nr < 64 ? u->atoms >> nr : 0;
	u->nr_atoms -= nr;
	while (u->random && nr) {
		unsigned int f = etm_random_below(u->random, 6), used = 0;

		for (unsigned int i = 0; !used; i++)
			used = enc_atoms_as(&u->out, 1 + (f + i) % 6, bits, nr);
		bits >>= used;
		nr -= used;
	}
	if (nr)
		enc_atoms(&u->out, bits, nr);
}

void enc_unit_flush(struct enc_unit *u)
{
	if (u->nr_atoms)
		send_atoms(u, u->nr_atoms);
	if (one_in(u, 50))
		enc_ignore(&u->out);
}

void enc_unit_p0(struct enc_unit *u)
{
	/* More than the maximum: the oldest is committed by that. */
	u->depth += u->depth < u->config->max_spec;
}

void enc_unit_atom(struct enc_unit *u, bool is_e)
{
	u->atoms |= (uint64_t)is_e << u->nr_atoms++;
	enc_unit_p0(u);
	if (u->nr_atoms >= 28 || one_in(u, 20))
		enc_unit_flush(u);
}

void enc_unit_async_only(struct enc_unit *u)
{
	enc_unit_flush(u);
	enc_async(&u->out);
}

void enc_unit_info_only(struct enc_unit *u, bool has_cycles, bool in_transaction)
{
	struct enc_trace_info t = {
		.info = (has_cycles ? ENC_INFO_CC : 0) | (in_transaction ? ENC_INFO_TRANS : 0),
		.spec = u->depth,
		.cyct = has_cycles ? u->threshold : 0,
	};

	t.sections = ENC_INFO | (t.spec ? ENC_SPEC : 0) | (t.cyct ? ENC_CYCT : 0);
	if (one_in(u, 4))
		t.sections |= ENC_KEY | ENC_SPEC | (has_cycles ? ENC_CYCT : 0);
	t.more_plctl = one_in(u, 8);
	enc_trace_info(&u->out, &t);
	memset(u->history, 0, sizeof(u->history));
	for (unsigned int i = 0; i < 3; i++)
		u->history[i].is_known = true;
	u->timestamp = 0;
	u->stack.nr = 0;
	u->stack.no_push = true;
	u->has_context = false;
}

void enc_unit_sync(struct enc_unit *u, bool has_cycles, bool in_transaction)
{
	enc_unit_async_only(u);
	enc_unit_info_only(u, has_cycles, in_transaction);
}

/* --- addresses --- */

static bool is_legal(const struct enc_unit *u, enum enc_form f, uint64_t a, uint8_t is)
{
	uint64_t old = u->history[0].address;
	bool knows = u->history[0].is_known;

	switch (f) {
	case ENC_MATCH_0:
	case ENC_MATCH_1:
	case ENC_MATCH_2:
		return u->history[f].is_known && u->history[f].address == a &&
		       u->history[f].is == is;
	case ENC_S1_IS0:
		return !is && knows && a >> 9 == old >> 9;
	case ENC_S2_IS0:
		return !is && knows && a >> 17 == old >> 17;
	case ENC_S1_IS1:
		return is && knows && a >> 8 == old >> 8;
	case ENC_S2_IS1:
		return is && knows && a >> 16 == old >> 16;
	case ENC_32_IS0:
	case ENC_32_IS1:
		/* The upper half stays, or is cleared in AArch32: where both are 0 it is the same.
		 */
		if (is != (f == ENC_32_IS1))
			return false;
		if (u->is_64 || !u->has_context)
			return knows && a >> 32 == old >> 32 && (u->has_context || !(a >> 32));
		return !(a >> 32);
	case ENC_64_IS0:
	case ENC_64_IS1:
		return is == (f == ENC_64_IS1);
	case NR_ENC_FORMS:
		break;
	}
	return false;
}

static enum enc_form form_of(struct enc_unit *u, uint64_t a, uint8_t is, bool is_long,
			     bool is_short)
{
	enum enc_form first = is_long ? ENC_32_IS0 : ENC_MATCH_0, f;

	if (u->random && etm_random_one_in(u->random, 3)) {
		for (unsigned int i = 0; i < 20; i++) {
			f = first + etm_random_below(u->random, NR_ENC_FORMS - first);
			if (is_legal(u, f, a, is) && !(is_short && f >= ENC_64_IS0))
				return f;
		}
	}
	for (f = first; !is_legal(u, f, a, is); f++)
		;
	return f;
}

static void remember(struct enc_unit *u, uint64_t a, uint8_t is)
{
	u->history[2] = u->history[1];
	u->history[1] = u->history[0];
	u->history[0].address = a;
	u->history[0].is = is;
	u->history[0].is_known = true;
}

void enc_unit_forget_history(struct enc_unit *u)
{
	for (unsigned int i = 0; i < 3; i++)
		u->history[i].is_known = false;
}

void enc_unit_address(struct enc_unit *u, uint64_t a, bool is_t32)
{
	enc_unit_flush(u);
	enc_address(&u->out, form_of(u, a, is_t32, false, false), a);
	remember(u, a, is_t32);
	u->stack.no_push = false;
}

/** C and V are sent where the value changed, always when full, and sometimes for nothing. */
static struct enc_context what_changed(struct enc_unit *u, const struct enc_context *c,
				       bool is_full)
{
	struct enc_context x = *c;

	x.has_cid = c->has_cid &&
		    (is_full || !u->has_context || c->cid != u->context.cid || one_in(u, 6));
	x.has_vmid = c->has_vmid &&
		     (is_full || !u->has_context || c->vmid != u->context.vmid || one_in(u, 6));
	return x;
}

static void sent(struct enc_unit *u, const struct enc_context *c)
{
	u->context = *c;
	u->has_context = true;
	u->is_64 = c->sf;
}

void enc_unit_context(struct enc_unit *u, const struct enc_context *c, bool is_full)
{
	struct enc_context x = what_changed(u, c, is_full);

	enc_unit_flush(u);
	enc_context(&u->out, u->config, &x);
	sent(u, c);
	if (one_in(u, 10))
		enc_context_same(&u->out);
}

void enc_unit_address_context(struct enc_unit *u, uint64_t a, bool is_t32,
			      const struct enc_context *c, bool is_full)
{
	struct enc_context x = what_changed(u, c, is_full);
	/* A 32-bit address may follow either rule for AArch32: both, or 64 bits. */
	enum enc_form f = u->has_context && u->is_64 == c->sf ? form_of(u, a, is_t32, true, false)
			: is_t32                              ? ENC_64_IS1
							      : ENC_64_IS0;

	if (one_in(u, 4)) {
		enc_unit_context(u, c, is_full);
		enc_unit_address(u, a, is_t32);
		return;
	}
	enc_unit_flush(u);
	enc_address_context(&u->out, u->config, f, a, &x);
	remember(u, a, is_t32);
	sent(u, c);
	u->stack.no_push = false;
}

void enc_unit_source(struct enc_unit *u, uint64_t a, bool is_t32)
{
	enc_unit_flush(u);
	enc_source_address(&u->out, form_of(u, a, is_t32, false, false), a);
	remember(u, a, is_t32);
	enc_unit_p0(u);
}

void enc_unit_q(struct enc_unit *u, uint64_t a, bool is_t32, uint32_t count, bool has_count)
{
	bool is_far = true;

	enc_unit_flush(u);
	for (enum enc_form f = ENC_MATCH_0; f < ENC_64_IS0; f++)
		is_far &= !is_legal(u, f, a, is_t32);
	if (has_count && !is_far && !one_in(u, 3)) {
		enc_q_address(&u->out, form_of(u, a, is_t32, false, true), a, count, 0);
		remember(u, a, is_t32);
		u->stack.no_push = false;
	} else {
		if (has_count)
			enc_q_count(&u->out, count, 0);
		else
			enc_q(&u->out);
		enc_unit_address(u, a, is_t32);
	}
	enc_unit_p0(u);
}

void enc_unit_exception(struct enc_unit *u, unsigned int type, unsigned int e)
{
	enc_unit_flush(u);
	enc_exception(&u->out, type, e, false, one_in(u, 5) ? 2 : 0);
	enc_unit_p0(u);
}

/* --- time --- */

static unsigned int ts_bytes(struct enc_unit *u, uint64_t v)
{
	unsigned int least = enc_timestamp_bytes(u->timestamp, v);

	return one_in(u, 4) ? least + etm_random_below(u->random, 10 - least) : least;
}

void enc_unit_timestamp(struct enc_unit *u, uint64_t v)
{
	enc_unit_flush(u);
	enc_timestamp(&u->out, v, ts_bytes(u, v));
	u->timestamp = v;
}

void enc_unit_timestamp_count(struct enc_unit *u, uint64_t v, uint32_t count)
{
	enc_unit_flush(u);
	enc_timestamp_count(&u->out, v, ts_bytes(u, v), count, 0);
	u->timestamp = v;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

void enc_unit_cycles(struct enc_unit *u, uint32_t commit, uint32_t count, bool is_known)
{
	const struct etm_config *c = u->config;
	bool has_commit = !c->has_commopt;

	enc_unit_flush(u);
	count -= u->threshold;
	if (!is_known)
		enc_count_f1_unknown(&u->out, c, commit);
	else if (count < 4 && (!has_commit || commit <= 4) && !one_in(u, 4))
		enc_count_f3(&u->out, c, has_commit ? commit : 1, count);
	else if (count < 16 && (!has_commit || commit <= 16) && !one_in(u, 4))
		enc_count_f2(&u->out, c, false, has_commit ? commit : 1, count);
	else if (count < 16 && has_commit && c->max_spec >= 16 && commit + 15 >= c->max_spec &&
		 commit <= c->max_spec)
		enc_count_f2(&u->out, c, true, commit, count);
	else
		enc_count_f1(&u->out, c, commit, count);
	if (has_commit)
		u->depth -= least(u->depth, commit);
}

/* --- speculation --- */

void enc_unit_commit(struct enc_unit *u, uint32_t nr)
{
	enc_unit_flush(u);
	enc_commit(&u->out, nr);
	u->depth -= nr;
}

/** The unsent atoms, as far as a cancel or mispredict packet can carry them in front. */
static enum enc_few few(struct enc_unit *u)
{
	enum enc_few ret = ENC_FEW_NONE;

	if (u->nr_atoms == 1)
		ret = u->atoms & 1 ? ENC_FEW_E : ENC_FEW_N;
	else if (u->nr_atoms == 2 && (u->atoms & 3) == 3)
		ret = ENC_FEW_EE;
	else
		enc_unit_flush(u);
	u->atoms = u->nr_atoms = 0;
	return ret;
}

static void mispredict(struct enc_unit *u)
{
	enum enc_few atoms = few(u);

	enc_mispredict(&u->out, atoms);
}

void enc_unit_cancel(struct enc_unit *u, uint32_t nr, bool is_mispredict)
{
	bool is_short = is_mispredict && !one_in(u, 3);

	u->depth -= nr;
	if (nr == 1 && is_short) {
		enum enc_few atoms = few(u);

		enc_cancel_f2(&u->out, atoms);
	} else if (nr >= 2 && nr <= 5 && is_short) {
		bool has_e = u->nr_atoms == 1 && u->atoms & 1;

		if (has_e)
			u->atoms = u->nr_atoms = 0;
		else
			enc_unit_flush(u);
		enc_cancel_f3(&u->out, has_e, nr);
	} else if (nr) {
		bool is_one = is_mispredict && !one_in(u, 2);

		enc_unit_flush(u);
		enc_cancel_f1(&u->out, nr, is_one);
		if (is_mispredict && !is_one)
			mispredict(u);
	} else if (is_mispredict) {
		mispredict(u);
	}
}

/* --- the return stack --- */

void enc_unit_push(struct enc_unit *u, uint64_t a, enum isa isa)
{
	struct enc_unit_stack *s = &u->stack;

	if (!s->depth || s->no_push)
		return;
	if (s->nr == s->depth) {
		memmove(s->entries, s->entries + 1, (s->nr - 1) * sizeof(s->entries[0]));
		s->nr--;
	}
	s->entries[s->nr].address = a;
	s->entries[s->nr].isa = (uint8_t)isa;
	s->nr++;
}

bool enc_unit_pop(struct enc_unit *u, uint64_t a, enum isa isa)
{
	struct enc_unit_stack *s = &u->stack;

	if (!s->nr || s->entries[s->nr - 1].address != a || s->entries[s->nr - 1].isa != isa)
		return false;
	s->nr--;
	return true;
}
