/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/branch_source.h"

#include <string.h>

#include "image/dso_source.h"
#include "isa/any/insn_decode.h"

enum {
	BACK_BYTES = 64,       /* looked at before an address */
	LONGEST_INSN = 15,     /* of x86 */
	SURE = 7,              /* times as many for as against */
	SHORT_SWEEP = 256,     /* from the beginning of the function: at once, */
	LONG_SWEEP = 64 << 10, /* and where the bytes before do not decide */
	MAX_WINDOWS = 1024,    /* functions of 32-bit Arm code, */
	MAX_MAPPINGS = 4096,   /* and mapping symbols of each */
};

/** The code around an address. */
struct place {
	struct dso *d;
	uint64_t rel, address; /* address: linked */
	enum isa isa;
};

static bool is_branch(const struct insn *i)
{
	return i->kind == INSN_BRANCH || i->kind == INSN_COND || i->kind == INSN_INDIRECT ||
	       i->kind == INSN_FAR;
}

static bool has_branch(const struct place *p, enum isa isa)
{
	const uint8_t *code;
	uint16_t machine;
	size_t left = dso_linked_bytes(p->d, p->address, &code, &machine);
	struct insn i;

	return left && insn_decode(isa, code, left, p->address, &i) && is_branch(&i);
}

/* --- x86: does an instruction begin there? --- */

/** Instructions from @p start on: true also where that is unknown. */
static bool sweeps_to(const struct place *p, uint64_t start)
{
	const uint8_t *code = NULL;
	uint16_t machine;
	size_t left = dso_linked_bytes(p->d, start, &code, &machine), bytes;
	struct insn i;

	for (uint64_t at = start; at < p->address; at += bytes, code += bytes, left -= bytes) {
		bytes = insn_decode(p->isa, code, left, at, &i);
		if (!bytes)
			return true;
		if (bytes > p->address - at)
			return false;
	}
	return true;
}

/** The bytes before an address, as many as there are; *ret_left: from *ret on. */
static size_t bytes_before(const struct place *p, const uint8_t **ret, size_t *ret_left)
{
	uint16_t machine;
	size_t nr = p->address < BACK_BYTES ? (size_t)p->address : BACK_BYTES;

	for (; nr; nr--) {
		*ret_left = dso_linked_bytes(p->d, p->address - nr, ret, &machine);
		if (*ret_left > nr)
			break;
	}
	return nr;
}

enum reach { REACH_UNKNOWN, REACHED, PASSED };

/**
 * Wherever decoding begins, it soon finds the true beginnings of instructions: what follows from
 * most places some bytes before is right. @return what that is; REACH_UNKNOWN: not clear.
 */
static enum reach vote(const struct place *p)
{
	enum reach reach[BACK_BYTES + LONGEST_INSN + 1] = {REACH_UNKNOWN};
	const uint8_t *code;
	size_t left, nr = bytes_before(p, &code, &left), votes[PASSED + 1] = {0};
	struct insn insn;

	for (size_t i = nr; i < sizeof(reach) / sizeof(*reach); i++)
		reach[i] = i == nr ? REACHED : PASSED;
	for (size_t i = nr; i-- > 0;) {
		size_t bytes = insn_decode(p->isa, code + i, left - i, p->address - nr + i, &insn);

		reach[i] = bytes ? reach[i + bytes] : REACH_UNKNOWN;
		if (i + LONGEST_INSN < nr)
			votes[reach[i]]++;
	}
	if (votes[REACHED] > SURE * votes[PASSED])
		return REACHED;
	return votes[PASSED] > SURE * votes[REACHED] ? PASSED : REACH_UNKNOWN;
}

static bool begins_insn(const struct place *p)
{
	const struct dso_sym *sym = dso_find_sym(p->d, p->rel);
	uint64_t into = sym && sym->start <= p->rel ? p->rel - sym->start : UINT64_MAX;
	enum reach reach;

	if (into <= SHORT_SWEEP)
		return sweeps_to(p, p->address - into);
	reach = vote(p);
	if (reach != REACH_UNKNOWN)
		return reach == REACHED;
	return into > LONG_SWEEP || sweeps_to(p, p->address - into);
}

/* --- 32-bit Arm: which of two instruction sets? --- */

static bool add_window(struct branch_sources *s, struct dso *d, uint64_t start, uint64_t end)
{
	struct arm_window all = {0}, w = {0};

	if (!vec_reserve(&all, MAX_MAPPINGS))
		return false;
	all.nr = dso_find_mappings(d, start, end, all.data, MAX_MAPPINGS);
	if (all.nr && vec_reserve(&w, all.nr)) {
		memcpy(w.data, all.data, all.nr * sizeof(*all.data));
		w.nr = all.nr;
	}
	vec_done(&all);
	return vec_push(&s->arm, w);
}

/** Of the function; where none is known, of the address alone. NULL: unknown. */
static const struct arm_window *window_of(struct branch_sources *s, const struct place *p)
{
	const struct dso_sym *sym = dso_find_sym(p->d, p->rel);
	uint64_t start = sym ? sym->start : p->rel, end = sym ? sym->end : p->rel + 1;
	uint64_t key = (uint64_t)dso_id(p->d) << 40 ^ start;
	size_t n;

	if (!map_u64_number(&s->windows, key, s->arm.nr, MAX_WINDOWS, &n))
		return NULL;
	if (n == s->arm.nr && !add_window(s, p->d, start, end)) {
		map_u64_remove(&s->windows, key);
		return NULL;
	}
	return &s->arm.data[n];
}

/** 'a', 't', 'd'; 0: unknown. */
static char mapping_at(struct branch_sources *s, const struct place *p)
{
	const struct arm_window *w = window_of(s, p);
	char kind = 0;

	for (size_t i = 0; w && i < w->nr && w->data[i].at <= p->rel; i++)
		kind = w->data[i].kind;
	return kind;
}

/** After a half that begins no wide instruction, one begins: from there on pairs are counted. */
static bool begins_t32(const struct place *p)
{
	const uint8_t *code;
	size_t left, nr = bytes_before(p, &code, &left), nr_wide = 0;
	struct insn i;

	for (size_t at = nr; at >= 2; at -= 2, nr_wide++) {
		if (insn_decode(ISA_T32, code + at - 2, left - (at - 2), 0, &i) != 4)
			break;
	}
	return nr_wide % 2 == 0;
}

static bool is_arm_branch(struct branch_sources *s, const struct place *p)
{
	char kind = mapping_at(s, p);

	if (p->address % 2)
		return false;
	if (kind != 't' && p->address % 4 == 0 && has_branch(p, ISA_A32))
		return true;
	return kind != 'a' && has_branch(p, ISA_T32) && begins_t32(p);
}

/* --- all --- */

static bool is_at_branch(struct branch_sources *s, const struct place *p)
{
	if (p->isa == ISA_A32)
		return is_arm_branch(s, p);
	if (p->isa == ISA_A64)
		return p->address % 4 == 0 && has_branch(p, ISA_A64);
	return has_branch(p, p->isa) && begins_insn(p);
}

enum ana_source branch_source_of(void *ctx, struct dso *d, uint64_t rel)
{
	struct place p = {.d = d, .rel = rel};
	const uint8_t *code;
	uint16_t machine;

	if (dso_kind(d) != DSO_USER || !dso_link_address(d, rel, &p.address) ||
	    !dso_linked_bytes(d, p.address, &code, &machine))
		return ANA_SOURCE_UNKNOWN;
	p.isa = isa_of_machine(machine, false);
	if (p.isa == NR_ISAS || !insn_can_decode(p.isa))
		return ANA_SOURCE_UNKNOWN;
	return is_at_branch(ctx, &p) ? ANA_SOURCE_BRANCH : ANA_SOURCE_OTHER;
}

void branch_sources_wish(struct branch_sources *s, struct ana_opts *opts)
{
	opts->source_of = branch_source_of;
	opts->source_ctx = s;
}

void branch_sources_done(struct branch_sources *s)
{
	vec_for_each (&s->arm, w)
		vec_done(w);
	vec_done(&s->arm);
	map_u64_done(&s->windows);
}
