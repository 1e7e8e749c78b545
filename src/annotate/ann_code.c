/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>

#include "annotate/ann_impl.h"
#include "base/search.h"
#include "image/dso_listing.h"
#include "image/jit_code.h"
#include "isa/any/insn_decode.h"

enum { MAX_BYTES = 4 << 20, MAX_MAPPINGS = 4096 };

/** The function's bytes, and how to read them. */
struct code {
	struct annotation *a;
	struct dso *d;
	struct insn_text *text;
	struct elf_mapping *mappings;
	size_t nr_mappings, next_mapping;
	const uint8_t *bytes; /* at start */
	uint64_t start, end;  /* rel */
	uint64_t delta;
	uint16_t machine;
	char kind;     /* of the mapping: 0: none so far */
	bool is_thumb; /* where no mapping symbol says it */
};

/** Of a file without mapping symbols. */
static bool has_odd_address(const struct ann_counts *c, const struct ann_symbol *s)
{
	for (size_t i = s->first_cell; i < s->first_cell + s->nr_cells; i++) {
		if (c->cells.data[i].rel & 2)
			return true;
	}
	return false;
}

static enum isa isa_of(const struct code *c)
{
	return isa_of_machine(c->machine, c->kind == 't' || (!c->kind && c->is_thumb));
}

/** The next of unknown bytes: the unit that the instruction set aligns to. */
static size_t unit_of(enum isa isa)
{
	return isa == ISA_A64 || isa == ISA_A32 ? 4 : isa == ISA_T32 ? 2 : 1;
}

static void add_bytes(struct buf *out, const uint8_t *p, size_t nr)
{
	buf_str(out, ".byte");
	for (size_t i = 0; i < nr; i++)
		buf_printf(out, "%s 0x%02x", i ? "," : "", p[i]);
}

static bool has_target(const struct insn *i)
{
	return i->kind == INSN_BRANCH || i->kind == INSN_COND;
}

/** Targets inside the function become instructions once all are known: link_jumps(). */
static void name_callee(const struct code *c, struct ann_insn *n, uint64_t target)
{
	uint64_t rel = target - c->delta;
	const struct dso_sym *sym;

	if (rel >= c->start && rel < c->end)
		return;
	if (dso_kind(c->d) == DSO_JIT) /* what is at that address in the end */
		dso_jit_find(c->d, (struct jit_when){clew_perf_ns_none(), false}, target, &rel);
	sym = dso_find_sym(c->d, rel);
	if (!sym)
		return;
	n->callee = sym->name;
	n->callee_offset = rel - sym->start;
}

/** Data in the middle of code, up to the next mapping symbol. */
static bool is_data(const struct code *c)
{
	return c->kind == 'd';
}

static void step_mappings(struct code *c, uint64_t rel)
{
	while (c->next_mapping < c->nr_mappings && c->mappings[c->next_mapping].at <= rel)
		c->kind = c->mappings[c->next_mapping++].kind;
}

/** @return false when memory is short. */
static bool add_insn(struct code *c, uint64_t rel, uint64_t *ret_target, size_t *ret_bytes)
{
	struct annotation *a = c->a;
	const uint8_t *p = c->bytes + (rel - c->start);
	size_t left = (size_t)(c->end - rel), bytes = 0, known = 0;
	struct ann_insn n = {
		.rel = rel, .address = rel + c->delta, .line = ANN_NONE, .target = ANN_NONE};
	struct insn insn = {.kind = INSN_PLAIN};
	enum isa isa = isa_of(c);

	n.text = (uint32_t)a->text.nr;
	if (!is_data(c)) {
		known = insn_decode(isa, p, left, n.address, &insn);
		bytes = c->text ? insn_text_add(c->text, isa, p, left, n.address, &a->text) : 0;
	}
	if (!bytes) {
		bytes = known ? known : unit_of(is_data(c) && left >= 4 ? ISA_A64 : isa);
		bytes = bytes < left ? bytes : left;
		add_bytes(&a->text, p, bytes);
	}
	n.bytes = (uint8_t)bytes;
	n.text_bytes = (uint32_t)a->text.nr - n.text;
	n.kind = insn.kind;
	n.flags = insn.flags;
	*ret_target = has_target(&insn) ? insn.target : UINT64_MAX;
	if (has_target(&insn))
		name_callee(c, &n, insn.target);
	*ret_bytes = bytes;
	return vec_push(&a->insns, n);
}

/** Jumps inside the function, calls of itself excluded. */
static void link_jumps(struct annotation *a, const uint64_t *targets)
{
	for (size_t i = 0; i < a->insns.nr; i++) {
		size_t at;

		if (targets[i] == UINT64_MAX || a->insns.data[i].flags & INSN_LINK)
			continue;
		at = search_first(a->insns.nr, k, a->insns.data[k].address >= targets[i]);
		if (at < a->insns.nr && a->insns.data[at].address == targets[i])
			a->insns.data[i].target = (uint32_t)at;
	}
}

static bool add_all(struct code *c)
{
	struct {
		VEC(uint64_t);
	} targets = {0};
	uint64_t rel = c->start, target;
	bool ok = true;
	size_t bytes;

	while (ok && rel < c->end) {
		step_mappings(c, rel);
		ok = add_insn(c, rel, &target, &bytes) && vec_push(&targets, target);
		rel += bytes;
	}
	if (ok)
		link_jumps(c->a, targets.data);
	vec_done(&targets);
	return ok;
}

bool ann_code_add(struct annotation *a, struct dso *d, const struct ann_counts *counts,
		  const struct ann_symbol *s, const struct annotation_opts *opts, uint64_t *ret_end,
		  uint64_t *ret_delta)
{
	struct code c = {.a = a, .d = d, .text = opts->text, .start = s->sym->start};
	struct code_region region;
	uint64_t linked;
	bool ok;

	a->why = dso_find_listing(d, c.start, &region, &c.machine);
	a->is_linked = dso_link_address(d, c.start, &linked);
	c.delta = *ret_delta = (a->is_linked ? linked : dso_address(d, c.start)) - c.start;
	if (a->why)
		return true;
	if (c.machine == EM_NONE)
		c.machine = opts->machine;
	if (isa_of(&c) == NR_ISAS) {
		a->why = "an instruction set that is unknown here";
		return true;
	}
	c.bytes = region.bytes + (c.start - region.start);
	c.end = s->sym->end < region.end ? s->sym->end : region.end;
	if (c.end - c.start > MAX_BYTES)
		c.end = c.start + MAX_BYTES;
	c.is_thumb = c.machine == EM_ARM && has_odd_address(counts, s);
	c.mappings = mem_calloc(MAX_MAPPINGS, sizeof(*c.mappings));
	if (!c.mappings)
		return false;
	c.nr_mappings = dso_find_mappings(d, c.start, c.end, c.mappings, MAX_MAPPINGS);
	ok = add_all(&c);
	mem_free(c.mappings);
	*ret_end = c.end;
	return ok;
}
