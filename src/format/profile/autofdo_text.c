/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/autofdo_text.h"

#include <string.h>

#include "base/escape.h"
#include "base/u64.h"
#include "format/profile/text_chunks.h"

/** One text. */
struct writer {
	struct text_chunks t;
	const struct counted_binary *b;
	const struct autofdo_opts *opts;
};

static bool segment_address(const struct counted_binary *b, uint64_t linked, uint64_t *ret)
{
	*ret = linked - b->base;
	return linked != CODE_ELSEWHERE && linked >= b->base;
}

static bool address_of(const struct writer *w, uint64_t linked, uint64_t *ret)
{
	return w->opts->base == AUTOFDO_SEGMENT ? segment_address(w->b, linked, ret)
						: counted_binary_offset(w->b, linked, ret);
}

static void put_number_of(struct writer *w, const struct code_table *t)
{
	uint64_t nr = 0, address;

	vec_for_each (t, e)
		nr += address_of(w, e->a, &address);
	buf_printf(&w->t.text, "%llu\n", (unsigned long long)nr);
}

static void put_runs(struct writer *w)
{
	struct buf *out = &w->t.text;
	uint64_t at;

	put_number_of(w, &w->b->counts.runs);
	vec_for_each (&w->b->counts.runs, e) {
		if (!address_of(w, e->a, &at))
			continue;
		buf_hex(out, at, 0, ' ');
		buf_char(out, '-');
		buf_hex(out, at + (e->b - e->a), 0, ' ');
		buf_char(out, ':');
		buf_dec(out, e->nr, 0, ' ');
		text_chunks_line(&w->t);
	}
}

static void put_samples(struct writer *w)
{
	uint64_t at;

	put_number_of(w, &w->b->counts.samples);
	vec_for_each (&w->b->counts.samples, e) {
		if (!address_of(w, e->a, &at))
			continue;
		buf_hex(&w->t.text, at, 0, ' ');
		buf_char(&w->t.text, ':');
		buf_dec(&w->t.text, e->nr, 0, ' ');
		text_chunks_line(&w->t);
	}
}

/** 0 is no target: it is what one elsewhere is written as. */
static bool has_target(const struct writer *w, const struct code_count *e, uint64_t *ret)
{
	return (w->opts->has_indirect || !(e->flags & CODE_INDIRECT)) && address_of(w, e->b, ret) &&
	     *ret;
}

static void put_branch(struct writer *w, uint64_t from, uint64_t to, uint64_t nr)
{
	struct buf *out = &w->t.text;

	buf_hex(out, from, 0, ' ');
	buf_str(out, "->");
	buf_hex(out, to, 0, ' ');
	buf_char(out, ':');
	buf_dec(out, nr, 0, ' ');
	text_chunks_line(&w->t);
}

/**
 * The branches from one address, @p from in the text: those without a target are one line, the
 * first. @p is_counted: only count.
 * @return lines.
 */
static uint64_t put_from(struct writer *w, uint64_t from, const struct code_count *e,
			 const struct code_count *end, bool is_counted)
{
	uint64_t nr_lines = 0, nr_nowhere = 0, to;

	for (const struct code_count *i = e; i < end; i++) {
		if (has_target(w, i, &to))
			nr_lines++;
		else
			nr_nowhere = u64_sum(nr_nowhere, i->nr);
	}
	if (!is_counted && nr_nowhere)
		put_branch(w, from, 0, nr_nowhere);
	for (const struct code_count *i = e; !is_counted && i < end; i++) {
		if (has_target(w, i, &to))
			put_branch(w, from, to, i->nr);
	}
	return nr_lines + (nr_nowhere != 0);
}

static uint64_t each_branch(struct writer *w, bool is_counted)
{
	const struct code_table *t = &w->b->counts.branches;
	uint64_t nr_lines = 0, from;
	size_t next;

	for (size_t i = 0; i < t->nr; i = next) {
		for (next = i; next < t->nr && t->data[next].a == t->data[i].a;)
			next++;
		if (address_of(w, t->data[i].a, &from))
			nr_lines += put_from(w, from, t->data + i, t->data + next, is_counted);
	}
	return nr_lines;
}

static void put_comments(struct text_chunks *t, const struct counted_binary *b)
{
	buf_str(&t->text, "// build_id: 0x");
	for (size_t i = 0; i < sizeof(b->build_id.bytes); i++)
		buf_hex(&t->text, i < b->build_id.size ? b->build_id.bytes[i] : 0, 2, '0');
	buf_str(&t->text, "\n// ");
	escape_str(&t->text, b->path);
	buf_str(&t->text, "\n\n");
}

enum clew_err autofdo_text(const struct counted_binary *b, const struct autofdo_opts *opts,
			   const struct clew_sink *sink)
{
	struct writer w = {.t.sink = sink, .b = b, .opts = opts};

	put_runs(&w);
	put_samples(&w);
	buf_printf(&w.t.text, "%llu\n", (unsigned long long)each_branch(&w, true));
	each_branch(&w, false);
	put_comments(&w.t, b);
	return text_chunks_end(&w.t);
}

bool autofdo_find_base(const char *name, enum autofdo_base *ret)
{
	if (!name || !strcmp(name, "offset"))
		*ret = AUTOFDO_OFFSET;
	else if (!strcmp(name, "segment"))
		*ret = AUTOFDO_SEGMENT;
	else
		return false;
	return true;
}

static bool differs(const struct counted_binary *b, const struct code_table *t)
{
	uint64_t x, y;

	vec_for_each (t, e) {
		if (segment_address(b, e->a, &x) && counted_binary_offset(b, e->a, &y) && x != y)
			return true;
	}
	return false;
}

bool autofdo_bases_differ(const struct counted_binary *b)
{
	return differs(b, &b->counts.runs) || differs(b, &b->counts.samples) ||
	       differs(b, &b->counts.branches);
}
