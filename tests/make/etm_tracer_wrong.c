/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_tracer_impl.h"

/* What a unit that speculates writes of a path that was not taken, and how it takes it back. */

static struct etm_place somewhere(struct etm_tracer *t)
{
	struct etm_place ret = t->here;

	ret.address ^= tracer_random(t, 0x20000) & ~3ull;
	return ret;
}

static void any_atom(struct etm_tracer *t)
{
	struct tracer_atom a = {.is_e = tracer_chance(t, 60)};

	tracer_add_atom(t, &a);
}

static void any_place(struct etm_tracer *t)
{
	struct enc_context x = t->sent; /* the state stays: it decides over upper halves */

	tracer_flush_atoms(t);
	if (tracer_chance(t, 30)) {
		x.el = tracer_random(t, 2) & 1;
		x.ns = tracer_chance(t, 50);
		x.has_vmid = x.has_cid = false;
		enc_context(t->out, t->config, &x);
	}
	tracer_put_address(t, somewhere(t));
}

static void any_exception(struct etm_tracer *t)
{
	tracer_flush_atoms(t);
	enc_exception(t->out, 14, ENC_E_RETURN, false, 0);
	tracer_put_address(t, somewhere(t));
	tracer_p0(t, 1);
}

/** One P0 element of the wrong path; with @p is_first nothing that is not P0 before it, which
 * would stay. */
static void any_p0(struct etm_tracer *t, bool is_first)
{
	if (!is_first && tracer_chance(t, 25))
		any_place(t);
	if (tracer_chance(t, 15)) {
		any_exception(t);
	} else if (!t->opts.spares_opencsd && tracer_chance(t, t->opts.sources)) {
		tracer_flush_atoms(t);
		tracer_put_source(t, somewhere(t));
	} else {
		any_atom(t);
	}
}

/** Cut @p nr atoms off the end of those that wait, which are @p want. */
static bool take_atoms(struct etm_tracer *t, unsigned int nr, bool want)
{
	for (unsigned int i = 0; i < nr; i++)
		if (i >= t->nr_atoms || t->atoms[t->nr_atoms - 1 - i].is_e != want)
			return false;
	t->nr_atoms -= nr;
	return true;
}

/** Atoms in front, and in the packet. @p nr_most: how many may go into it. */
static enum enc_few few_atoms(struct etm_tracer *t, unsigned int nr_most)
{
	enum enc_few ret = ENC_FEW_NONE;

	if (tracer_varies(t))
		ret = ENC_FEW_NONE;
	else if (nr_most > 1 && take_atoms(t, 2, true))
		ret = ENC_FEW_EE;
	else if (take_atoms(t, 1, true))
		ret = ENC_FEW_E;
	else if (take_atoms(t, 1, false))
		ret = ENC_FEW_N;
	tracer_flush_atoms(t);
	tracer_p0(t, ret == ENC_FEW_EE ? 2 : ret != ENC_FEW_NONE);
	return ret;
}

/** Take @p nr back; the atom before them was the opposite. */
static void take_back(struct etm_tracer *t, uint32_t nr)
{
	bool is_packed = !tracer_varies(t);
	bool has_e;

	if (nr == 0 && is_packed) {
		enc_mispredict(t->out, few_atoms(t, 2));
	} else if (nr == 1 && is_packed) {
		enc_cancel_f2(t->out, few_atoms(t, 2));
	} else if (nr >= 2 && nr <= 5 && is_packed) {
		has_e = !tracer_varies(t) && take_atoms(t, 1, true);
		tracer_flush_atoms(t);
		tracer_p0(t, has_e);
		enc_cancel_f3(t->out, has_e, nr);
	} else {
		bool is_apart = tracer_varies(t);

		tracer_flush_atoms(t);
		if (nr || !is_apart)
			enc_cancel_f1(t->out, nr, !is_apart);
		if (is_apart)
			enc_mispredict(t->out, ENC_FEW_NONE);
	}
	t->depth -= nr;
	t->stats.nr_cancelled += nr;
}

void tracer_wrong_path(struct etm_tracer *t, bool is_flipped)
{
	uint32_t most = t->config->max_spec - 1, nr;
	bool was_predicted = t->was_predicted;

	most = most < 9 ? most : 9;
	nr = (uint32_t)tracer_random(t, most + is_flipped) + !is_flipped;
	t->is_wrong = true;
	t->stats.nr_wrong++;
	if (!is_flipped && t->has_address && t->opts.has_wrong_targets) {
		tracer_flush_atoms(t);
		tracer_put_address(t, somewhere(t));
	}
	for (uint32_t i = 0; i < nr; i++)
		any_p0(t, !i);
	if (is_flipped) {
		take_back(t, nr);
	} else {
		tracer_flush_atoms(t);
		enc_cancel_f1(t->out, nr, false);
		t->depth -= nr;
		t->stats.nr_cancelled += nr;
	}
	t->is_wrong = false;
	t->was_predicted = was_predicted;
}
