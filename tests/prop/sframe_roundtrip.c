/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/mem.h"
#include "make/sframe_random.h"
#include "unit/tap.h"

/*
 * Random tables, written in every version, architecture and byte order, are the same when read
 * again: row by row from the bytes, and address by address from the compiled table.
 */

enum { SEEDS = 200 };

static bool same_rows(const struct sframe *s, const struct sframe_function *got,
		      const struct sframe_random_function *want)
{
	struct sframe_cursor c = sframe_first_row(got);
	struct sframe_row row;
	struct unw_rule rule;

	for (size_t i = 0; i < want->nr; i++) {
		if (sframe_next_row(s, got, &c, &row, NULL))
			return false;
		sframe_rule(s, got, &row, &rule);
		if (row.start != want->off[i] || memcmp(&rule, &want->rule[i], sizeof(rule)) != 0)
			return false;
	}
	return sframe_next_row(s, got, &c, &row, NULL) == CLEW_END;
}

static bool same_bytes(const struct sframe_random *want, const struct unw_section *section)
{
	struct sframe_function f;
	struct sframe s;

	if (sframe_open(&s, section, NULL) || s.version != want->opts.version ||
	    s.abi != want->opts.abi || s.nr_functions != want->nr)
		return false;
	for (size_t i = 0; i < want->nr; i++) {
		const struct sframe_random_function *w = &want->function[i];

		if (sframe_function(&s, (uint32_t)i, &f, NULL) || f.start != w->start ||
		    f.size != w->size || f.is_mask != (w->rep_size != 0) ||
		    (f.is_mask && f.rep_size != w->rep_size) || !same_rows(&s, &f, w))
			return false;
	}
	return true;
}

/* The rule that the table has to give, by the definition of the format. */
static const struct unw_rule *rule_at(const struct sframe_random_function *f, uint32_t off)
{
	const struct unw_rule *rule = NULL;

	if (f->rep_size)
		off %= f->rep_size;
	for (size_t i = 0; i < f->nr && f->off[i] <= off; i++)
		rule = &f->rule[i];
	return rule;
}

static bool same_rule(const struct unw_rule *got, const struct unw_rule *want)
{
	if (got->cfa == UNW_CFA_PLT)
		return true; /* sframe_rows_test.c */
	return got->cfa == want->cfa && got->cfa_reg == want->cfa_reg &&
	       got->cfa_off == want->cfa_off && got->ra == want->ra &&
	       got->ra_reg == want->ra_reg && got->ra_off == want->ra_off && got->fp == want->fp &&
	       got->fp_reg == want->fp_reg && got->fp_off == want->fp_off &&
	       got->flags == want->flags;
}

static bool same_function(const struct unw_table *t, const struct sframe_random_function *f,
			  uint64_t rel)
{
	uint32_t step = 1 + f->size / 4096;

	for (uint32_t off = 0; off < f->size; off += step) {
		const struct unw_rule *want = rule_at(f, off);

		if (!same_rule(unw_table_find(t, rel + off), want))
			return false;
	}
	for (size_t i = 0; !f->rep_size && i < f->nr; i++) {
		if (!same_rule(unw_table_find(t, rel + f->off[i]), &f->rule[i]))
			return false;
	}
	return unw_table_find(t, rel + f->size)->cfa == UNW_CFA_NONE || f->size % 16 == 0;
}

/* File offsets are not addresses: the code lies at another place in the file. */
enum { CODE_OFFSET = 0x3000 };

static bool same_table(const struct sframe_random *want, const struct unw_section *section)
{
	struct unw_image image = {
		.arch = want->opts.abi == SFRAME_ABI_AMD64_ENDIAN_LITTLE ? UNW_X86_64
		      : want->opts.abi == SFRAME_ABI_S390X_ENDIAN_BIG    ? UNW_S390X
									 : UNW_AARCH64,
		.sframe = *section,
		.segments = {{want->code_start, want->code_bytes, CODE_OFFSET}},
		.nr_segments = 1,
	};
	struct unw_list *list = unw_list_new();
	struct unw_table table;
	void *block = NULL;
	size_t size = 0;
	struct sframe s;
	bool ok = !sframe_open(&s, section, NULL);

	image.is_swapped = ok && s.is_swapped;
	ok = ok && !sframe_rows(&image, list, NULL) &&
	     !unw_table_build(list, NULL, image.arch, &block, &size) &&
	     !unw_table_of_block(&table, block, size);
	for (size_t i = 0; ok && i < want->nr; i++)
		ok = same_function(&table, &want->function[i],
				   want->function[i].start - want->code_start + CODE_OFFSET);
	mem_free(block);
	unw_list_free(list);
	return ok;
}

static void check(const struct sframe_write_opts *opts, const char *name)
{
	unsigned int nr_bytes = 0, nr_tables = 0;
	static struct sframe_random r;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct buf b = {0};

		sframe_random_fill(&r, opts, seed);
		if (sframe_random_write(&r, &b)) {
			struct unw_section section = {(uint8_t *)b.data, b.nr, r.opts.addr};

			nr_bytes += same_bytes(&r, &section);
			nr_tables += !r.nr || same_table(&r, &section);
		}
		buf_done(&b);
	}
	CHECK_EQ(nr_bytes, SEEDS, "version %u, %s%s%s: the same rows", opts->version, name,
		 opts->no_pcrel ? ", not PCREL" : "", opts->no_sort ? ", unsorted" : "");
	CHECK_EQ(nr_tables, SEEDS, "and the same table");
}

int main(void)
{
	static const char *const names[] = {"", "aarch64 big-endian", "aarch64", "amd64", "s390x"};

	for (uint8_t version = 1; version <= 3; version++) {
		for (unsigned int abi = 1; abi <= 4; abi++) {
			for (unsigned int form = 0; form < 4; form++) {
				struct sframe_write_opts opts = {
					.version = version,
					.abi = abi,
					.no_pcrel = form & 1,
					.no_sort = form & 2,
				};

				if (version == 1 &&
				    (abi == SFRAME_ABI_S390X_ENDIAN_BIG || form & 1))
					continue;
				check(&opts, names[abi]);
			}
		}
	}
	return tap_done();
}
