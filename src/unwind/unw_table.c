/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_table.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "unwind/unw_list.h"

enum { MIN_SHIFT = 8, MAX_SHIFT = 16, MAX_RULES = 65535 };

/** A row while the span is not settled: off from struct packing's base. */
struct flat_row {
	uint32_t off, rule;
};

struct packing {
	struct {
		VEC(struct flat_row);
	} rows;
	struct unw_rules rules;
	uint32_t *known[UNW_MAX_SOURCES]; /* of the rules of each list: index in rules + 1 */
	uint64_t base, end;               /* rel; base is a multiple of 1 << MAX_SHIFT */
};

static void packing_done(struct packing *p)
{
	vec_done(&p->rows);
	unw_rules_done(&p->rules);
	for (size_t i = 0; i < UNW_MAX_SOURCES; i++)
		mem_free(p->known[i]);
}

static uint64_t checksum_of(const struct unw_table_head *h)
{
	struct unw_table_head head = *h;

	head.checksum = 0;
	return hash_two(hash_bytes(&head, sizeof(head)),
			hash_bytes(h + 1, h->bytes - sizeof(head)));
}

static bool is_known(const struct unw_sweep *s)
{
	return s->rule && s->rule->cfa != UNW_CFA_NONE;
}

/** Which of the two counts at this address? */
static const struct unw_sweep *better(const struct unw_sweep *first, const struct unw_sweep *second)
{
	if (first->rule && first->rule->why == UNW_WHY_NEW_STACK)
		return first;
	if (is_known(first)) {
		bool has_mark = is_known(second) && (second->rule->flags & UNW_SIGNAL ||
						     second->rule->ra == UNW_UNDEFINED);

		return first->rule->origin == UNW_SFRAME && has_mark ? second : first;
	}
	if (is_known(second) || !first->rule)
		return second;
	return first->rule->why == UNW_WHY_GAP && second->rule ? second : first;
}

static enum clew_err add_row(struct packing *p, uint64_t rel, const struct unw_sweep *from,
			     size_t which)
{
	struct flat_row r = {(uint32_t)(rel - p->base), 0};

	if (from && !p->known[which][from->index]) {
		if (!unw_rules_intern(&p->rules, from->rule, &r.rule))
			return CLEW_NO_MEMORY;
		if (r.rule >= MAX_RULES)
			return CLEW_LIMIT;
		p->known[which][from->index] = r.rule + 1;
	} else if (from) {
		r.rule = p->known[which][from->index] - 1;
	}
	if (p->rows.nr && p->rows.data[p->rows.nr - 1].rule == r.rule)
		return CLEW_OK;
	return vec_push(&p->rows, r) ? CLEW_OK : CLEW_NO_MEMORY;
}

/** The next address where any source changes. */
static uint64_t next_of(const struct unw_sweep *sweeps, size_t nr)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < nr; i++) {
		if (sweeps[i].until < next)
			next = sweeps[i].until;
	}
	return next;
}

/** Walk the sources side by side, each from before its first function. */
static enum clew_err merge(struct packing *p, struct unw_sweep *sweeps, size_t nr)
{
	enum clew_err err = CLEW_OK;
	uint64_t at = next_of(sweeps, nr);

	while (!err && at < p->end) {
		const struct unw_sweep *from = NULL;

		for (size_t i = 0; i < nr; i++) {
			if (sweeps[i].until == at && !unw_sweep_next(&sweeps[i]))
				return CLEW_NO_MEMORY;
			from = from ? better(from, &sweeps[i]) : &sweeps[i];
		}
		err = add_row(p, at, from->rule ? from : NULL, (size_t)(from - sweeps));
		at = next_of(sweeps, nr);
	}
	return err;
}

static uint64_t end_of(const struct unw_sweep *sweeps, size_t nr)
{
	uint64_t end = 0;

	for (size_t i = 0; i < nr; i++) {
		vec_for_each (&sweeps[i].list->functions, f) {
			if (f->end > end)
				end = f->end;
		}
	}
	return end;
}

/** Small buckets make look-ups short; fewer of them than half the rows keep the block small. */
static uint32_t choose_shift(uint64_t span, size_t nr_rows)
{
	uint32_t shift = MIN_SHIFT;

	while (shift < MAX_SHIFT && (span >> shift) > nr_rows / 2 + 16)
		shift++;
	return shift;
}

static void fill_block(const struct packing *p, const struct flat_row *rows,
		       struct unw_table_head *h)
{
	uint32_t *bucket = (uint32_t *)(h + 1), *row = bucket + h->nr_buckets + 1;
	uint32_t i = 0;

	for (uint32_t b = 0; b < h->nr_buckets; b++) {
		uint64_t end = h->start - p->base + ((uint64_t)(b + 1) << h->shift);

		bucket[b] = i;
		for (; i < h->nr_rows && rows[i].off < end; i++)
			row[i] = rows[i].off << 16 | rows[i].rule;
	}
	bucket[h->nr_buckets] = i;
	memcpy(row + h->nr_rows, p->rules.data, p->rules.nr * sizeof(*p->rules.data));
	h->checksum = checksum_of(h);
}

static enum clew_err pack(struct packing *p, uint64_t first, enum unw_arch arch, void **ret_block,
			  size_t *ret_size)
{
	struct unw_table_head h = {.magic = UNW_TABLE_MAGIC, .version = UNW_TABLE_VERSION};
	struct unw_table_head *block;
	struct flat_row *rows = p->rows.data;
	size_t nr = p->rows.nr;
	uint64_t bytes;

	h.shift = choose_shift(p->end - first, nr);
	h.start = first >> h.shift << h.shift;
	rows[0].off = (uint32_t)(h.start - p->base);
	if (nr > 1 && rows[1].off == rows[0].off) /* no gap before the first function */
		rows++, nr--;
	h.end = p->end;
	h.nr_buckets = (uint32_t)((h.end - h.start + (1u << h.shift) - 1) >> h.shift);
	h.nr_rules = (uint32_t)p->rules.nr;
	h.arch = arch;
	bytes = sizeof(h) + ((uint64_t)h.nr_buckets + 1 + nr) * sizeof(uint32_t) +
		(uint64_t)h.nr_rules * sizeof(struct unw_rule);
	if (bytes > UINT32_MAX)
		return CLEW_UNSUPPORTED;
	h.nr_rows = (uint32_t)nr;
	h.bytes = (uint32_t)bytes;
	block = mem_alloc(bytes);
	if (!block)
		return CLEW_NO_MEMORY;
	*block = h;
	fill_block(p, rows, block);
	*ret_block = block;
	*ret_size = bytes;
	return CLEW_OK;
}

/** Rule 0 and the row before the first function are the gap. */
static enum clew_err packing_init(struct packing *p, uint64_t first, uint64_t end)
{
	static const struct unw_rule gap = {.cfa = UNW_CFA_NONE, .why = UNW_WHY_GAP};
	uint32_t index;

	p->base = first >> MAX_SHIFT << MAX_SHIFT;
	p->end = end;
	if (first >= end)
		return CLEW_NOT_FOUND;
	if (end - p->base > UINT32_MAX)
		return CLEW_UNSUPPORTED;
	if (!unw_rules_intern(&p->rules, &gap, &index))
		return CLEW_NO_MEMORY;
	return add_row(p, p->base, NULL, 0);
}

static enum clew_err build(struct unw_sweep *sweeps, size_t nr, enum unw_arch arch,
			   void **ret_block, size_t *ret_size)
{
	clew_auto(packing_done) struct packing p = {0};
	uint64_t first = next_of(sweeps, nr);
	enum clew_err err = packing_init(&p, first, end_of(sweeps, nr));

	for (size_t i = 0; !err && i < nr; i++) {
		p.known[i] = mem_calloc(sweeps[i].list->rules.nr + 1, sizeof(uint32_t));
		err = p.known[i] ? CLEW_OK : CLEW_NO_MEMORY;
	}
	if (!err)
		err = merge(&p, sweeps, nr);
	return err ? err : pack(&p, first, arch, ret_block, ret_size);
}

enum clew_err unw_table_build_of(struct unw_list *const lists[], size_t nr, enum unw_arch arch,
				 void **ret_block, size_t *ret_size)
{
	struct unw_sweep sweeps[UNW_MAX_SOURCES];
	enum clew_err err = nr <= UNW_MAX_SOURCES ? CLEW_OK : CLEW_INVALID;
	size_t n = 0;

	for (; !err && n < nr; n++)
		err = unw_sweep_init(&sweeps[n], lists[n]);
	if (!err)
		err = build(sweeps, nr, arch, ret_block, ret_size);
	for (size_t i = 0; i < n; i++)
		unw_sweep_done(&sweeps[i]);
	return err;
}

enum clew_err unw_table_build(struct unw_list *first, struct unw_list *second, enum unw_arch arch,
			      void **ret_block, size_t *ret_size)
{
	struct unw_list *lists[] = {first, second};

	return unw_table_build_of(lists, second ? 2 : 1, arch, ret_block, ret_size);
}

/** Is the head possible in itself, and do the arrays fill the block exactly? */
static bool is_head_right(const struct unw_table_head *h, size_t size)
{
	uint64_t bytes, buckets;

	if (h->magic != UNW_TABLE_MAGIC || h->version != UNW_TABLE_VERSION || h->bytes != size)
		return false;
	if (h->shift < MIN_SHIFT || h->shift > MAX_SHIFT || h->start & ((1u << h->shift) - 1))
		return false;
	if (h->start >= h->end || h->end - h->start > UINT32_MAX)
		return false;
	if (h->arch < UNW_X86_64 || h->arch > UNW_S390X)
		return false;
	if (!h->nr_rows || !h->nr_rules || h->nr_rules > MAX_RULES)
		return false;
	buckets = (h->end - h->start + (1u << h->shift) - 1) >> h->shift;
	bytes = sizeof(*h) + ((uint64_t)h->nr_buckets + 1 + h->nr_rows) * sizeof(uint32_t) +
		(uint64_t)h->nr_rules * sizeof(struct unw_rule);
	return buckets == h->nr_buckets && bytes == size;
}

/** Rows of a bucket stand in order and inside of it: together they cover the span once. */
static bool is_bucket_right(const struct unw_table *t, uint32_t b)
{
	const struct unw_table_head *h = t->head;
	uint32_t from = t->bucket[b], to = t->bucket[b + 1];
	uint32_t low = (uint32_t)(h->start + ((uint64_t)b << h->shift)) & 0xffff;

	if (from > to || to > h->nr_rows)
		return false;
	for (uint32_t i = from; i < to; i++) {
		if (t->row[i] >> 16 < low || (t->row[i] >> 16) - low >= 1u << h->shift ||
		    (t->row[i] & 0xffff) >= h->nr_rules)
			return false;
		if (i > from && t->row[i] >> 16 <= t->row[i - 1] >> 16)
			return false;
	}
	return true;
}

static bool is_rule_right(const struct unw_rule *r)
{
	return r->cfa <= UNW_CFA_INDEX && r->ra <= UNW_UNDEFINED && r->fp <= UNW_UNDEFINED &&
	       r->cfa_reg < UNW_MAX_REGS && r->ra_reg < UNW_MAX_REGS && r->fp_reg < UNW_MAX_REGS;
}

static bool is_block_right(const struct unw_table *t)
{
	const struct unw_table_head *h = t->head;

	if (t->bucket[0] || t->bucket[h->nr_buckets] != h->nr_rows ||
	    t->row[0] >> 16 != (h->start & 0xffff) || t->rule[0].cfa != UNW_CFA_NONE)
		return false;
	for (uint32_t b = 0; b < h->nr_buckets; b++) {
		if (!is_bucket_right(t, b))
			return false;
	}
	for (uint32_t i = 0; i < h->nr_rules; i++) {
		if (!is_rule_right(&t->rule[i]))
			return false;
	}
	return true;
}

void unw_table_of_checked(struct unw_table *ret, const void *data)
{
	struct unw_table t = {.head = data};

	t.bucket = (const uint32_t *)(t.head + 1);
	t.row = t.bucket + t.head->nr_buckets + 1;
	t.rule = (const struct unw_rule *)(t.row + t.head->nr_rows);
	*ret = t;
}

enum clew_err unw_table_of_block(struct unw_table *ret, const void *data, size_t size)
{
	struct unw_table t = {.head = data};

	if (size < sizeof(*t.head) || (uintptr_t)data % 8 || !is_head_right(t.head, size) ||
	    t.head->checksum != checksum_of(t.head))
		return CLEW_BAD_FILE;
	unw_table_of_checked(&t, data);
	if (!is_block_right(&t))
		return CLEW_BAD_FILE;
	*ret = t;
	return CLEW_OK;
}
