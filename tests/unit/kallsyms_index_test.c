/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/kallsyms_index.h"

#include <stdio.h>

#include "unit/tap.h"

/** The two ways to the same answers. */
struct both {
	struct kallsyms_index x;
	struct sym_table rest, all;
	struct intern rest_modules, all_modules;
	struct kallsyms_info info, all_info;
	enum clew_err err;
	bool is_apart;
};

static void load(struct both *b, struct bytes text)
{
	struct bytes left = text;
	struct kallsyms_info rest;

	*b = (struct both){0};
	kallsyms_collect(&b->all, text, &b->all_modules, "_text", &b->all_info);
	sym_table_finish(&b->all, SYM_FILL_KALLSYMS);
	b->err = kallsyms_index_open(&b->x, &left, "_text", &b->info);
	if (b->err)
		return;
	kallsyms_collect(&b->rest, left, &b->rest_modules, "_text", &rest);
	sym_table_finish(&b->rest, SYM_FILL_KALLSYMS);
	b->is_apart = kallsyms_index_is_apart(&b->x, &b->rest, &rest);
}

static void done(struct both *b)
{
	kallsyms_index_done(&b->x);
	sym_table_done(&b->rest);
	sym_table_done(&b->all);
	intern_done(&b->rest_modules);
	intern_done(&b->all_modules);
}

static bool is_same_symbol(const struct both *b, const struct sym *s, const char *name,
			   size_t name_bytes, uint64_t start, uint64_t end)
{
	const char *want = sym_name(&b->all, s);

	return s->start == start && s->end == end && strlen(want) == name_bytes &&
	       !memcmp(want, name, name_bytes);
}

static bool is_same_at(const struct both *b, uint64_t addr)
{
	const struct sym *want = sym_table_find(&b->all, addr), *s;
	struct kallsyms_line l;
	uint64_t end;

	if (kallsyms_index_find(&b->x, addr, &l, &end))
		return want && !want->module &&
		       is_same_symbol(b, want, l.name, l.name_bytes, l.addr, end);
	s = sym_table_find(&b->rest, addr);
	if (!s || !want)
		return !s && !want;
	return s->module && want->module &&
	       !strcmp(intern_get(&b->rest_modules, s->module),
		       intern_get(&b->all_modules, want->module)) &&
	       is_same_symbol(b, want, sym_name(&b->rest, s), strlen(sym_name(&b->rest, s)),
			      s->start, s->end);
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/** Of a few hundred lines: repeated addresses, types that do not count, now and then a module. */
static size_t random_text(uint32_t *seed, char *ret, size_t size)
{
	static const char types[] = "TtTtWwDdBbRrAV";
	uint32_t nr = next_random(seed) % 300, nr_modules = next_random(seed) % 3 * 20;
	uint64_t addr = 0xffffffff81000000u - next_random(seed) % 2 * 0x40000000;
	size_t n = 0;

	for (uint32_t i = 0; i < nr && n + 80 < size; i++) {
		addr += next_random(seed) % 3 * (next_random(seed) % 0x300);
		n += (size_t)snprintf(ret + n, size - n, "%016lx %c %ssym%u\n", addr,
				      types[next_random(seed) % (sizeof(types) - 1)],
				      next_random(seed) % 20 ? "" : "$", i);
	}
	addr = next_random(seed) % 2 ? 0xffffffffc0000000u : addr + next_random(seed) % 0x4000;
	for (uint32_t i = 0; i < nr_modules && n + 80 < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%016lx t mod%u\t[m%u]\n",
				      addr + next_random(seed) % 0x8000, i, i / 20);
	return n;
}

static void test_random(void)
{
	static char text[32768];
	uint32_t seed = 7, nr_apart = 0, nr_wrong = 0;

	for (int round = 0; round < 400; round++) {
		size_t n = random_text(&seed, text, sizeof(text));
		struct both b;

		load(&b, bytes_of(text, n));
		nr_wrong += !b.err && b.info.nr + b.rest.nr < b.all.nr;
		nr_apart += b.is_apart;
		for (size_t i = 0; b.is_apart && i < b.all.nr; i++) {
			const struct sym *s = &b.all.syms[i];

			nr_wrong += !is_same_at(&b, s->start) || !is_same_at(&b, s->end) ||
				    !is_same_at(&b, s->start - 1) || !is_same_at(&b, s->end - 1);
		}
		done(&b);
	}
	CHECK(nr_apart > 100, "%u of 400 texts are of two parts", nr_apart);
	CHECK_EQ(nr_wrong, 0, "index and rest answer as the one table does");
}

/** A line of the kernel's own among the modules', where it gives way to one of these. */
static void test_own_after(void)
{
	static const char text[] = "ffffffff81000000 T _text\n"
				   "ffffffffc0000000 t module\t[x]\n"
				   "ffffffffc0000000 t own\n";
	struct both b;

	load(&b, bytes_of(text, strlen(text)));
	CHECK(!b.err && !b.is_apart, "it ends the symbol in front: one table of all");
	done(&b);
}

static void test_info(void)
{
	static const char text[] = "0000000000000000 A zero\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81001000 t last";
	struct both b;

	load(&b, bytes_of(text, strlen(text)));
	CHECK(!b.err && b.info.nr == 3 && b.info.has_ref && !b.info.is_all_zero &&
		      b.info.ref_addr == 0xffffffff81000000u,
	      "the reference symbol is found, no newline is needed at the end");
	CHECK(is_same_at(&b, 0) && is_same_at(&b, 0xffffffff81000000u) &&
		      is_same_at(&b, 0xffffffff81002fff) && is_same_at(&b, 0xffffffff81003000),
	      "what does not count has no symbol, the last one ends with a page");
	done(&b);
	load(&b, bytes_of("0000000000000000 T a\n0000000000000000 T b\n", 42));
	CHECK(!b.err && b.info.is_all_zero, "hidden addresses are noticed");
	done(&b);
}

static void test_refused(void)
{
	static const struct {
		const char *text;
		const char *why;
	} rows[] = {
		{"",						  "nothing"        },
		{"ffffffff81000000 r x\n",                            "no symbols"     },
		{"ffffffff81000000 T a\nffffffff80000000 T b\n",      "out of order"   },
		{"ffffffff81000000 T a\n\n",                          "an empty line"  },
		{"ffffffff8100000 T a\n",                             "a short address"},
		{"ffffffff8100000G T a\n",                            "not an address" },
		{"FFFFFFFF81000000 T a\n",                            "large letters"  },
		{"ffffffff81000000 T \n",                             "no name"        },
		{"ffffffff81000000 T a\t[m]\nffffffff81000001 T b\n", "a module first" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bytes text = bytes_of(rows[i].text, strlen(rows[i].text)), left = text;
		struct kallsyms_index x = {0};
		struct kallsyms_info info;

		CHECK(kallsyms_index_open(&x, &left, NULL, &info) == CLEW_UNSUPPORTED &&
			      left.pos == text.pos && !x.marks.nr,
		      "%s", rows[i].why);
	}
}

static void test_not_apart(void)
{
	static const char kernel[] = "ffffffff81000000 T a\nffffffff81002000 T b\n";
	static const struct {
		const char *rest;
		bool is_apart;
	} rows[] = {
		{"",						  true },
		{"ffffffffc0000000 t m\t[m]\n",                       true },
		{"ffffffff80ffe000 t m\t[m]\n",                       true },
		{"ffffffff80fff001 t m\t[m]\n",                       false},
		{"ffffffff81002100 t m\t[m]\n",                       false},
		{"ffffffff81001000 t m\t[m]\n",                       false},
		{"ffffffffc0000000 t m\t[m]\nffffffffd0000000 t n\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[256];
		struct both b;
		int n = snprintf(text, sizeof(text), "%s%s", kernel, rows[i].rest);

		load(&b, bytes_of(text, (size_t)n));
		CHECK_EQ(b.is_apart, rows[i].is_apart, "row %zu", i);
		for (uint64_t at = 0xffffffff80ff0000u; b.is_apart && at < 0xffffffff81010000u;
		     at += 0x7ff)
			b.is_apart = is_same_at(&b, at);
		CHECK_EQ(b.is_apart, rows[i].is_apart, "row %zu: the same symbols", i);
		done(&b);
	}
}

int main(void)
{
	test_own_after();
	test_info();
	test_refused();
	test_not_apart();
	test_random();
	return tap_done();
}
