/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/autofdo_text.h"

#include "base/escape.h"
#include "base/u64.h"
#include "format/profile/text_chunks.h"

static void put_runs(struct text_chunks *t, const struct counted_binary *b)
{
	uint64_t nr = 0;

	vec_for_each (&b->counts.runs, e)
		nr += e->a >= b->base;
	buf_printf(&t->text, "%llu\n", (unsigned long long)nr);
	vec_for_each (&b->counts.runs, e) {
		if (e->a < b->base)
			continue;
		buf_hex(&t->text, e->a - b->base, 0, ' ');
		buf_char(&t->text, '-');
		buf_hex(&t->text, e->b - b->base, 0, ' ');
		buf_char(&t->text, ':');
		buf_dec(&t->text, e->nr, 0, ' ');
		text_chunks_line(t);
	}
}

static void put_samples(struct text_chunks *t, const struct counted_binary *b)
{
	uint64_t nr = 0;

	vec_for_each (&b->counts.samples, e)
		nr += e->a >= b->base;
	buf_printf(&t->text, "%llu\n", (unsigned long long)nr);
	vec_for_each (&b->counts.samples, e) {
		if (e->a < b->base)
			continue;
		buf_hex(&t->text, e->a - b->base, 0, ' ');
		buf_char(&t->text, ':');
		buf_dec(&t->text, e->nr, 0, ' ');
		text_chunks_line(t);
	}
}

static bool has_target(const struct counted_binary *b, const struct code_count *e,
		       const struct autofdo_opts *opts)
{
	return e->b != CODE_ELSEWHERE && e->b > b->base &&
	       (opts->has_indirect || !(e->flags & CODE_INDIRECT));
}

static void put_branch(struct text_chunks *t, uint64_t from, uint64_t to, uint64_t nr)
{
	buf_hex(&t->text, from, 0, ' ');
	buf_str(&t->text, "->");
	buf_hex(&t->text, to, 0, ' ');
	buf_char(&t->text, ':');
	buf_dec(&t->text, nr, 0, ' ');
	text_chunks_line(t);
}

/**
 * The branches from one address: those without a target are one line, the first. @p t NULL: only
 * count.
 * @return lines.
 */
static uint64_t put_from(struct text_chunks *t, const struct counted_binary *b,
			 const struct code_count *e, const struct code_count *end,
			 const struct autofdo_opts *opts)
{
	uint64_t nr_lines = 0, nr_nowhere = 0;

	for (const struct code_count *i = e; i < end; i++) {
		if (has_target(b, i, opts))
			nr_lines++;
		else
			nr_nowhere = u64_sum(nr_nowhere, i->nr);
	}
	if (t && nr_nowhere)
		put_branch(t, e->a - b->base, 0, nr_nowhere);
	for (const struct code_count *i = e; t && i < end; i++) {
		if (has_target(b, i, opts))
			put_branch(t, i->a - b->base, i->b - b->base, i->nr);
	}
	return nr_lines + (nr_nowhere != 0);
}

static uint64_t each_branch(struct text_chunks *t, const struct counted_binary *b,
			    const struct autofdo_opts *opts)
{
	const struct code_count *data = b->counts.branches.data;
	size_t nr = b->counts.branches.nr, next;
	uint64_t nr_lines = 0;

	for (size_t i = 0; i < nr; i = next) {
		for (next = i; next < nr && data[next].a == data[i].a;)
			next++;
		if (data[i].a != CODE_ELSEWHERE && data[i].a >= b->base)
			nr_lines += put_from(t, b, data + i, data + next, opts);
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
	struct text_chunks t = {.sink = sink};

	put_runs(&t, b);
	put_samples(&t, b);
	buf_printf(&t.text, "%llu\n", (unsigned long long)each_branch(NULL, b, opts));
	each_branch(&t, b, opts);
	put_comments(&t, b);
	return text_chunks_end(&t);
}
