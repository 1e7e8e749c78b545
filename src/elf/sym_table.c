/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_table.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/search.h"
#include "elf/sym_latest.h"
#include "elf/sym_tree.h"

enum {
	PAGE_BYTES = 4096,
	FIRST_SYMBOLS = 8,
	SCRATCH_BYTES = 96 /* a symbol's share of what settling needs for a while */
};

void sym_table_init(struct sym_table *t, const char *text, size_t text_bytes)
{
	*t = (struct sym_table){.text = text, .text_bytes = text_bytes};
}

void sym_table_done(struct sym_table *t)
{
	vec_done(&t->added);
	mem_free(t->syms);
	mem_free(t->ranges);
	buf_done(&t->own);
	budget_give(t->budget, t->charged);
	*t = (struct sym_table){0};
}

static bool charge(struct sym_table *t, uint64_t bytes)
{
	if (!budget_take(t->budget, bytes)) {
		t->is_over_budget = true;
		return false;
	}
	t->charged += bytes;
	return true;
}

/** Before the vector of what is added, or the text of names, is made twice as large. */
static bool charge_growth(struct sym_table *t, uint64_t cap, uint64_t want, uint64_t size)
{
	uint64_t more = cap > want ? cap : want;

	return !t->budget || charge(t, more * size);
}

uint32_t sym_table_own_name(struct sym_table *t, const char *name, size_t len)
{
	size_t at = t->own.nr;

	if (at + len + 1 >= UINT32_MAX ||
	    (t->own.cap - at < len + 1 && !charge_growth(t, t->own.cap, len + 1, 1)) ||
	    !buf_reserve(&t->own, len + 1))
		return SYM_NO_NAME;
	buf_add(&t->own, name, len);
	buf_char(&t->own, '\0');
	return (uint32_t)at;
}

bool sym_table_add(struct sym_table *t, const struct sym *s, uint8_t bind)
{
	struct sym_new n = {.s = *s, .order = (uint32_t)t->added.nr, .bind = bind};

	if (n.s.end < n.s.start)
		n.s.end = UINT64_MAX;
	if (t->added.nr == t->added.cap &&
	    !charge_growth(t, t->added.cap, FIRST_SYMBOLS, sizeof(n)))
		return false;
	return t->added.nr < SYM_TABLE_MAX && vec_push(&t->added, n);
}

void sym_table_mark_late(struct sym_table *t)
{
	t->nr_early = t->added.nr;
}

const char *sym_name(const struct sym_table *t, const struct sym *s)
{
	if (s->is_own)
		return s->name < t->own.nr ? t->own.data + s->name : "";
	return s->name < t->text_bytes ? t->text + s->name : "";
}

static size_t leading_underscores(const char *s)
{
	return strspn(s, "_");
}

static bool is_syscall_alias(const char *s)
{
	return !strncmp(s, "SyS", 3) || !strncmp(s, "compat_SyS", 10);
}

static const char *shown(const struct sym_table *t, const struct sym *s)
{
	const char *name = sym_name(t, s);

	return t->shown_name ? t->shown_name(t->shown_ctx, name) : name;
}

/** By name only: fewer underscores in front, then longer, then the earlier one. */
static bool is_first_name_better(const struct sym_table *t, const struct sym_new *a,
				 const struct sym_new *b)
{
	const char *name = shown(t, &a->s);
	size_t a_under = leading_underscores(name), a_len = strlen(name), b_under, b_len;
	bool a_alias = is_syscall_alias(name);

	name = shown(t, &b->s);
	b_under = leading_underscores(name);
	b_len = strlen(name);
	if (a_under != b_under)
		return a_under < b_under;
	if (a_len != b_len)
		return a_len > b_len;
	return !a_alias;
}

static bool is_first_better(const struct sym_table *t, const struct sym_new *a,
			    const struct sym_new *b)
{
	bool a_empty = a->s.end == a->s.start, b_empty = b->s.end == b->s.start;

	if (a_empty != b_empty)
		return b_empty;
	if ((a->bind == STB_WEAK) != (b->bind == STB_WEAK))
		return b->bind == STB_WEAK;
	if ((a->bind == STB_GLOBAL) != (b->bind == STB_GLOBAL))
		return a->bind == STB_GLOBAL;
	return is_first_name_better(t, a, b);
}

uint64_t sym_end_of_last(uint64_t start)
{
	uint64_t end = align_up(start, PAGE_BYTES) + PAGE_BYTES;

	return end < start ? UINT64_MAX : end;
}

static void fill_sizes(const struct sym_table *t, struct sym_new *const *by_addr, size_t nr,
		       enum sym_fill fill)
{
	for (size_t i = 0; i < nr; i++) {
		struct sym *s = &by_addr[i]->s;
		const struct sym *next = i + 1 < nr ? &by_addr[i + 1]->s : NULL;

		if (s->end != s->start)
			continue;
		if (!next)
			s->end = sym_end_of_last(s->start);
		else if (fill == SYM_FILL_KALLSYMS && !s->module != !next->module)
			s->end = align_up(s->end + PAGE_BYTES, PAGE_BYTES);
		else
			s->end = next->start;
		if (s->end < s->start)
			s->end = UINT64_MAX;
		if (t->code_end && s->type == STT_FUNC)
			s->end = t->code_end(t->code_ctx, s->start, s->end);
	}
}

/** Mark the losers; @p dead gets them in the order in which they lose. @return their number. */
static size_t drop_repetitions(const struct sym_table *t, struct sym_new *const *by_addr, size_t nr,
			       uint32_t *dead)
{
	struct sym_new *best = nr ? by_addr[0] : NULL;
	size_t nr_dead = 0;

	for (size_t i = 1; i < nr; i++) {
		struct sym_new *loser, *s = by_addr[i];

		if (s->s.start != best->s.start) {
			best = s;
			continue;
		}
		loser = is_first_better(t, best, s) ? s : best;
		loser->is_dead = true;
		dead[nr_dead++] = loser->order;
		if (loser == best)
			best = s;
	}
	return nr_dead;
}

/** Bottom-up merge sort: stable, as the tree is; one pass where the input is sorted already. */
static void sort_by_addr(struct sym_new **v, struct sym_new **tmp, size_t nr)
{
	bool is_sorted = true;

	for (size_t i = 1; i < nr && is_sorted; i++)
		is_sorted = v[i - 1]->s.start <= v[i]->s.start;
	for (size_t width = 1; width < nr && !is_sorted; width *= 2) {
		for (size_t lo = 0; lo < nr; lo += 2 * width) {
			size_t mid = nr - lo < width ? nr : lo + width;
			size_t hi = nr - lo < 2 * width ? nr : lo + 2 * width;
			size_t a = lo, b = mid, out = lo;

			while (a < mid && b < hi)
				tmp[out++] = v[b]->s.start < v[a]->s.start ? v[b++] : v[a++];
			while (a < mid)
				tmp[out++] = v[a++];
			while (b < hi)
				tmp[out++] = v[b++];
		}
		memcpy(v, tmp, nr * sizeof(*v));
	}
}

static bool has_overlap(struct sym_new *const *by_addr, size_t nr)
{
	const struct sym *prev = NULL;

	for (size_t i = 0; i < nr; i++) {
		const struct sym *s = &by_addr[i]->s;

		if (by_addr[i]->is_dead)
			continue;
		if (prev && (prev->end > s->start || prev->start == s->start))
			return true;
		prev = s;
	}
	return false;
}

/** The survivors as syms[], .order of each = its index there. */
static bool keep_survivors(struct sym_table *t, struct sym_new *const *by_addr, size_t nr)
{
	size_t nr_alive = 0, out = 0;

	for (size_t i = 0; i < nr; i++)
		nr_alive += !by_addr[i]->is_dead;
	t->syms = mem_calloc(nr_alive ? nr_alive : 1, sizeof(*t->syms));
	if (!t->syms)
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (by_addr[i]->is_dead)
			continue;
		t->syms[out] = by_addr[i]->s;
		by_addr[i]->order = (uint32_t)out++;
	}
	t->nr = nr_alive;
	return true;
}

static bool flatten(struct sym_table *t, enum sym_fill fill, size_t nr_early, const uint32_t *dead,
		    size_t nr_dead)
{
	const struct sym_new *added = t->added.data;
	size_t nr = t->added.nr;

	return fill == SYM_FILL_LATEST ? sym_latest_flatten(added, nr, &t->ranges, &t->nr_ranges)
				       : sym_tree_flatten(added, nr, nr_early, dead, nr_dead,
							  &t->ranges, &t->nr_ranges);
}

static bool settle(struct sym_table *t, enum sym_fill fill, struct sym_new **by_addr,
		   struct sym_new **tmp, uint32_t *dead)
{
	size_t nr = t->added.nr, nr_early = fill == SYM_FILL_LATEST ? nr : t->nr_early, nr_dead = 0;

	for (size_t i = 0; i < nr; i++)
		by_addr[i] = &t->added.data[i];
	sort_by_addr(by_addr, tmp, nr_early);
	if (fill != SYM_FILL_LATEST) {
		fill_sizes(t, by_addr, nr_early, fill);
		nr_dead = drop_repetitions(t, by_addr, nr_early, dead);
	}
	if (nr_early < nr)
		sort_by_addr(by_addr, tmp, nr);
	if (has_overlap(by_addr, nr) && !flatten(t, fill, nr_early, dead, nr_dead))
		return false;
	if (!keep_survivors(t, by_addr, nr))
		return false;
	for (size_t i = 0; i < t->nr_ranges; i++)
		t->ranges[i].sym = t->added.data[t->ranges[i].sym].order;
	return true;
}

/** Only what stays is charged from here on. */
static void settle_charge(struct sym_table *t)
{
	uint64_t kept = t->nr * sizeof(*t->syms) + t->nr_ranges * sizeof(*t->ranges) + t->own.cap;

	if (kept < t->charged) {
		budget_give(t->budget, t->charged - kept);
		t->charged = kept;
	}
}

static bool finish(struct sym_table *t, enum sym_fill fill)
{
	size_t nr = t->added.nr;
	struct sym_new **by_addr = mem_calloc(nr + 1, sizeof(struct sym_new *));
	struct sym_new **tmp = mem_calloc(nr + 1, sizeof(struct sym_new *));
	uint32_t *dead = mem_calloc(nr + 1, sizeof(*dead));
	bool ok;

	if (!t->nr_early)
		t->nr_early = nr;
	ok = by_addr && tmp && dead && !t->own.is_failed && settle(t, fill, by_addr, tmp, dead);
	mem_free(dead);
	mem_free(tmp);
	mem_free(by_addr);
	vec_done(&t->added);
	return ok;
}

bool sym_table_finish(struct sym_table *t, enum sym_fill fill)
{
	bool is_over = !charge(t, t->added.nr * SCRATCH_BYTES);

	if (is_over || !finish(t, fill)) {
		sym_table_done(t);
		t->is_over_budget = is_over;
		return false;
	}
	settle_charge(t);
	return true;
}

static const struct sym *find_range(const struct sym_table *t, uint64_t addr)
{
	size_t at = search_first(t->nr_ranges, i, t->ranges[i].end > addr);

	return at < t->nr_ranges && t->ranges[at].start <= addr ? &t->syms[t->ranges[at].sym]
								: NULL;
}

const struct sym *sym_table_find(const struct sym_table *t, uint64_t addr)
{
	const struct sym *s;
	size_t after;

	if (t->nr_ranges)
		return find_range(t, addr);
	after = search_first(t->nr, i, t->syms[i].start > addr);
	if (!after)
		return NULL;
	s = &t->syms[after - 1];
	return addr < s->end || addr == s->start ? s : NULL;
}
