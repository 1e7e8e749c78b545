/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/profile/lcov_text.h"

#include "base/escape.h"
#include "format/profile/text_chunks.h"

/** What is next of each list: all are in order of file. */
struct cursor {
	size_t line, function, branch;
};

static void put_sum(struct text_chunks *t, const char *found, size_t nr, const char *hit,
		    size_t nr_hit)
{
	buf_printf(&t->text, "%s:%zu\n%s:%zu", found, nr, hit, nr_hit);
	text_chunks_line(t);
}

static void put_name(struct text_chunks *t, const char *name)
{
	text_chunks_name(t, name, ',');
	text_chunks_line(t);
}

static void put_functions(struct text_chunks *t, const struct line_counts *c, uint32_t file,
			  size_t *at)
{
	size_t first = *at, nr_hit = 0;

	for (; *at < c->functions.nr && c->functions.data[*at].file == file; ++*at) {
		buf_printf(&t->text, "FN:%u,", c->functions.data[*at].line);
		put_name(t, c->functions.data[*at].name);
	}
	for (size_t i = first; i < *at; i++) {
		const struct line_function *f = &c->functions.data[i];

		nr_hit += f->nr > 0;
		buf_printf(&t->text, "FNDA:%llu,", (unsigned long long)f->nr);
		put_name(t, f->name);
	}
	put_sum(t, "FNF", *at - first, "FNH", nr_hit);
}

/** @return how many of its two outcomes came. */
static unsigned int put_branch(struct text_chunks *t, const struct line_branch *b, uint32_t block)
{
	const uint64_t nr[] = {b->nr_taken, b->nr - b->nr_taken};

	for (unsigned int i = 0; i < 2; i++) {
		buf_printf(&t->text, "BRDA:%u,%u,%u,", b->line, block, i);
		if (b->nr)
			buf_dec(&t->text, nr[i], 0, ' ');
		else
			buf_char(&t->text, '-');
		text_chunks_line(t);
	}
	return (nr[0] ? 1u : 0) + (nr[1] ? 1u : 0);
}

static void put_branches(struct text_chunks *t, const struct line_counts *c, uint32_t file,
			 size_t *at)
{
	size_t first = *at, nr_hit = 0;
	uint32_t line = 0, block = 0;

	for (; *at < c->branches.nr && c->branches.data[*at].file == file; ++*at) {
		const struct line_branch *b = &c->branches.data[*at];

		block = b->line == line ? block + 1 : 0;
		line = b->line;
		nr_hit += put_branch(t, b, block);
	}
	if (*at > first)
		put_sum(t, "BRF", 2 * (*at - first), "BRH", nr_hit);
}

static void put_lines(struct text_chunks *t, const struct line_counts *c, uint32_t file, size_t *at)
{
	size_t first = *at, nr_hit = 0;

	for (; *at < c->lines.nr && c->lines.data[*at].file == file; ++*at) {
		const struct line_count *l = &c->lines.data[*at];

		nr_hit += l->nr > 0;
		buf_printf(&t->text, "DA:%u,%llu", l->line, (unsigned long long)l->nr);
		text_chunks_line(t);
	}
	put_sum(t, "LF", *at - first, "LH", nr_hit);
}

enum clew_err lcov_text(const struct line_counts *c, const struct clew_sink *sink)
{
	struct text_chunks t = {.sink = sink};
	struct cursor at = {0};

	for (uint32_t file = 0; file < c->files.nr; file++) {
		buf_str(&t.text, "TN:\nSF:");
		escape_str(&t.text, c->files.data[file]);
		text_chunks_line(&t);
		put_functions(&t, c, file, &at.function);
		put_branches(&t, c, file, &at.branch);
		put_lines(&t, c, file, &at.line);
		buf_str(&t.text, "end_of_record");
		text_chunks_line(&t);
	}
	return text_chunks_end(&t);
}
