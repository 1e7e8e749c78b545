/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "profile/line_counts.h"

#include <elf.h>

#include "base/u64.h"
#include "image/dso_source.h"
#include "isa/any/insn_decode.h"
#include "profile/key_number.h"
#include "report/code_outcomes.h"

enum { MAX_ENTRIES = 8 << 20 /* of each kind */ };

struct counter {
	struct line_counts *c;
	const struct counted_binary *binary;
	struct code_outcomes outcomes;
	const char *last_path; /* most rows have the file of the one before */
	uint32_t last_file;
	struct key_numbers keys;
};

/* --- entries, each once --- */

static bool file_of(struct counter *k, const char *path, uint32_t *ret)
{
	bool is_new;

	if (!path || !path[0])
		return false;
	if (path != k->last_path &&
	    !key_number(&k->keys, &k->c->paths, path, strlen(path), &k->last_file, &is_new)) {
		k->last_path = NULL;
		return false;
	}
	k->last_path = path;
	*ret = k->last_file;
	return true;
}

/** NULL: no room. */
static struct line_count *line_of(struct counter *k, const char *path, uint32_t line)
{
	struct line_counts *c = k->c;
	uint32_t key[] = {0, line}, n;
	bool is_new;

	if (!line || !file_of(k, path, &key[0]) ||
	    !key_number(&k->keys, &c->line_keys, key, sizeof(key), &n, &is_new))
		return NULL;
	if (is_new && !vec_push(&c->lines, (struct line_count){.file = key[0], .line = line}))
		k->keys.is_failed = true;
	return k->keys.is_failed ? NULL : &c->lines.data[n];
}

static struct line_function *function_of(struct counter *k, const char *path, uint32_t line,
					 const char *name)
{
	struct line_counts *c = k->c;
	uint32_t key[] = {0, 0}, n;
	bool is_new;

	if (!line || !name || !name[0] || !file_of(k, path, &key[0]) ||
	    !key_number(&k->keys, &c->names, name, strlen(name), &key[1], &is_new) ||
	    !key_number(&k->keys, &c->function_keys, key, sizeof(key), &n, &is_new))
		return NULL;
	if (is_new &&
	    !vec_push(&c->functions,
		      (struct line_function){key[0], line, intern_get(&c->names, key[1] + 1), 0}))
		k->keys.is_failed = true;
	return k->keys.is_failed ? NULL : &c->functions.data[n];
}

static void raise_to(struct line_count *l, uint64_t nr)
{
	if (l && nr > l->most)
		l->most = nr;
}

/* --- branches --- */

static void add_branch(struct counter *k, const struct line_count *l, uint64_t address)
{
	struct line_branch b = {
		.file = l->file, .line = l->line, .binary = k->c->nr_binaries, .address = address};

	b.nr = code_outcomes_at(&k->outcomes, address, &b.nr_taken);
	if (k->c->branches.nr >= MAX_ENTRIES ||
	    !budget_account_take(&k->c->account, sizeof(b), k->keys.what))
		k->c->nr_no_room++;
	else if (!vec_push(&k->c->branches, b))
		k->keys.is_failed = true;
}

/** Of EM_ARM it is unknown which of two instruction sets each byte is of. */
static void add_branches(struct counter *k, const struct dwarf_row *row, const struct line_count *l)
{
	const uint8_t *p;
	uint16_t machine;
	size_t left = dso_linked_bytes(k->binary->dso, row->start, &p, &machine), bytes;
	enum isa isa = isa_of_machine(machine, false);
	struct insn i;

	if (!left || machine == EM_ARM)
		return;
	if (left > row->end - row->start)
		left = row->end - row->start;
	for (uint64_t at = row->start; left; at += bytes, p += bytes, left -= bytes) {
		bytes = insn_decode(isa, p, left, at, &i);
		if (!bytes)
			return;
		if (i.kind == INSN_COND)
			add_branch(k, l, at);
	}
}

/* --- the walk --- */

static bool take_row(void *ctx, const struct dwarf_row *row)
{
	struct counter *k = ctx;
	struct line_count *l = line_of(k, row->file, row->line);

	if (l && k->binary->counts.runs.nr) {
		raise_to(l, code_levels_most(&k->outcomes.levels, row->start, row->end));
		add_branches(k, row, l);
	}
	return !k->keys.is_failed;
}

/** Where a function is declared; else the first line of it. */
static const char *path_of(const struct counter *k, const struct dwarf_entry *e)
{
	struct dso_line l;

	if (e->function.decl_file)
		return e->function.decl_file;
	return dso_find_linked_lines(k->binary->dso, e->address, &l, 1) ? l.file : NULL;
}

static bool take_entry(void *ctx, const struct dwarf_entry *e)
{
	struct counter *k = ctx;
	uint64_t nr = code_levels_at(&k->outcomes.levels, e->address);
	struct line_function *f =
		function_of(k, path_of(k, e), e->function.decl_line, e->function.name);

	if (f)
		f->nr = u64_sum(f->nr, nr);
	if (e->function.is_inlined)
		raise_to(line_of(k, e->call.file, e->call.line), nr);
	return !k->keys.is_failed;
}

/* --- of samples --- */

/** Has a level nearer to the address that line? */
static bool is_repeated(const struct dso_line *l, size_t i)
{
	for (size_t n = 0; n < i; n++) {
		if (l[n].line == l[i].line && l[n].file == l[i].file)
			return true;
	}
	return false;
}

static void add_samples(struct counter *k)
{
	struct dso_line l[DSO_MAX_LEVELS];

	vec_for_each (&k->binary->counts.samples, s) {
		size_t nr = dso_find_linked_lines(k->binary->dso, s->a, l, DSO_MAX_LEVELS);

		for (size_t i = 0; i < nr; i++) {
			struct line_count *line =
				is_repeated(l, i) ? NULL : line_of(k, l[i].file, l[i].line);
			struct line_function *f =
				function_of(k, l[i].decl_file ? l[i].decl_file : l[i].file,
					    l[i].decl_line, l[i].link_name);

			if (line)
				line->most = u64_sum(line->most, s->nr);
			if (f)
				f->nr = u64_sum(f->nr, s->nr);
		}
	}
}

/* --- all of it --- */

static void end_binary(struct line_counts *c)
{
	vec_for_each (&c->lines, l) {
		l->nr = u64_sum(l->nr, l->most);
		l->most = 0;
	}
}

enum clew_err line_counts_add(struct line_counts *c, const struct counted_binary *b)
{
	struct counter k = {
		.c = c,
		.binary = b,
		.keys = {&c->account, "source lines of", MAX_ENTRIES, &c->nr_no_room, false}
        };
	const struct dwarf_walker w = {take_row, take_entry, &k};

	if (!b->dso || b->is_not_found || !dso_has_source(b->dso)) {
		c->nr_without++;
		return CLEW_OK;
	}
	if (!code_outcomes_make(&k.outcomes, &b->counts) || !dso_walk_source(b->dso, &w))
		k.keys.is_failed = true;
	if (!b->counts.runs.nr)
		add_samples(&k);
	code_outcomes_done(&k.outcomes);
	end_binary(c);
	c->nr_binaries++;
	return k.keys.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

void line_counts_done(struct line_counts *c)
{
	vec_done(&c->lines);
	vec_done(&c->functions);
	vec_done(&c->branches);
	vec_done(&c->files);
	intern_done(&c->paths);
	intern_done(&c->names);
	intern_done(&c->line_keys);
	intern_done(&c->function_keys);
	budget_account_done(&c->account);
}
