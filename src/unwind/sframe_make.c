/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/sframe_impl.h"
#include "unwind/sframe_write.h"
#include "unwind/unw_list.h"

enum { PLT_CFA = 8, PLT_CFA_LATE = 16 };

/* Rows of one function from row @p from up to @p to, exclusive; the code ends at @p end. */
struct part {
	const struct unw_list *list;
	const struct unw_function *f;
	uint64_t vaddr; /* of the function */
	size_t from, to;
	uint32_t end;
};

static const struct unw_rule *rule_of(const struct part *p, size_t i, uint32_t *ret_off)
{
	const struct unw_mark *m = &p->list->marks.data[p->f->first + i];

	*ret_off = m->off;
	return &p->list->rules.data[m->rule];
}

/* A lazy PLT: entries of 16 bytes, the later part of which has one word more on the stack. */
static void put_plt(struct sframe_writer *w, const struct part *p)
{
	uint32_t start, threshold;
	const struct unw_rule *plt = rule_of(p, p->from, &start);
	struct unw_rule row = *plt;

	threshold = (uint32_t)plt->cfa_off;
	row.cfa = UNW_CFA_REG;
	row.cfa_reg = sframe_sp(UNW_X86_64);
	row.cfa_off = PLT_CFA;
	sframe_writer_begin(w, p->vaddr + start, p->end - start, SFRAME_PLT_ENTRY);
	sframe_writer_row(w, 0, &row);
	row.cfa_off = PLT_CFA_LATE;
	sframe_writer_row(w, threshold, &row);
}

static void put_part(struct sframe_writer *w, const struct part *p)
{
	uint32_t start = 0, off;

	if (p->from)
		rule_of(p, p->from, &start);
	sframe_writer_begin(w, p->vaddr + start, p->end - start, 0);
	for (size_t i = p->from; i < p->to; i++) {
		const struct unw_rule *rule = rule_of(p, i, &off);

		sframe_writer_row(w, off - start, rule);
	}
}

static bool is_block(const struct part *p, size_t i)
{
	uint32_t off;
	const struct unw_rule *rule = rule_of(p, i, &off);

	return rule->cfa == UNW_CFA_PLT && (p->vaddr + off) % SFRAME_PLT_ENTRY == 0 &&
	       rule->cfa_off > 0 && rule->cfa_off < SFRAME_PLT_ENTRY;
}

/* Rows for a PLT are of another kind: a function is cut where they begin and end. */
static void put_function(struct sframe_writer *w, struct part *p)
{
	uint32_t size = (uint32_t)(p->f->end - p->f->start);

	if (!p->f->nr) {
		sframe_writer_begin(w, p->vaddr, size, 0);
		sframe_writer_row(w, 0, &(struct unw_rule){0});
	}
	for (size_t i = 0; i < p->f->nr; i = p->to) {
		bool is_plt = is_block(p, i);

		p->from = i;
		p->to = i + 1;
		while (!is_plt && p->to < p->f->nr && !is_block(p, p->to))
			p->to++;
		p->end = size;
		if (p->to < p->f->nr)
			rule_of(p, p->to, &p->end);
		if (is_plt)
			put_plt(w, p);
		else
			put_part(w, p);
	}
}

enum clew_err sframe_make(const struct unw_image *image, const struct unw_list *list,
			  const struct sframe_write_opts *opts, struct buf *ret,
			  struct sframe_written *counts)
{
	struct sframe_writer *w = sframe_writer_new(opts);
	enum clew_err err;

	if (!w)
		return CLEW_NO_MEMORY;
	vec_for_each (&list->functions, f) {
		struct part p = {.list = list, .f = f};

		if (unw_image_vaddr(image, f->start, &p.vaddr))
			put_function(w, &p);
	}
	err = list->err ? list->err : sframe_writer_finish(w, ret, counts);
	sframe_writer_free(w);
	return err;
}
