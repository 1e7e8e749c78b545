/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "elf/jitdump.h"
#include "image/dso_priv.h"

enum { DUMP_MAX_BYTES = 1024 * 1024 * 1024, LINES_MAX = 16 * 1024 * 1024 };

struct line {
	uint64_t addr;
	const char *file;
	uint32_t line;
};

struct dso_jit_lines {
	struct os_map map; /* texts are in here */
	struct {
		VEC(struct line);
	} lines; /* sorted by address */
	struct {
		VEC(struct code_region);
	} code; /* sorted by address */
	uint16_t machine;
};

/** Code as it was last put at its address. */
struct loaded {
	uint64_t addr, size, index;
	const char *name;
	struct bytes code; /* in the file; a later MOVE may claim another size */
};

struct reader {
	struct jitdump dump;
	struct {
		VEC(struct loaded);
	} code;
	struct map_u64 by_addr, by_index; /* -> position in code */
	struct dso_jit_lines *lines;
};

void dso_jit_lines_free(struct dso_jit_lines *l)
{
	if (!l)
		return;
	os_map_done(&l->map);
	vec_done(&l->lines);
	vec_done(&l->code);
	mem_free(l);
}

static void reader_done(struct reader *r)
{
	vec_done(&r->code);
	map_u64_done(&r->by_addr);
	map_u64_done(&r->by_index);
}

/** What was at that address before is gone. */
static bool put(struct reader *r, const struct loaded *n)
{
	uint64_t *at = map_u64_get(&r->by_addr, n->addr);
	size_t i = at ? (size_t)*at : r->code.nr;

	if (at)
		r->code.data[i] = *n;
	else if (!vec_push(&r->code, *n) || !map_u64_put(&r->by_addr, n->addr, i))
		return false;
	return map_u64_put(&r->by_index, n->index, i);
}

static bool move(struct reader *r, const struct jitdump_record *rec)
{
	uint64_t *at = map_u64_get(&r->by_index, rec->index);
	struct loaded n;

	if (!at || r->code.data[*at].index != rec->index)
		return true;
	n = r->code.data[*at];
	n.addr = rec->addr;
	n.size = rec->size;
	return put(r, &n);
}

static bool add_lines(struct reader *r, struct jitdump_record *rec)
{
	struct jitdump_line l = {0};

	while (r->lines->lines.nr < LINES_MAX && jitdump_next_line(&r->dump, rec, &l)) {
		if (!vec_push(&r->lines->lines, (struct line){l.addr, l.file, l.line}))
			return false;
	}
	return true;
}

static bool take(struct reader *r, struct jitdump_record *rec)
{
	switch (rec->kind) {
	case JITDUMP_LOAD:
		return put(r, &(struct loaded){rec->addr, rec->size, rec->index, rec->name,
					       rec->code});
	case JITDUMP_MOVE:
		return move(r, rec);
	case JITDUMP_DEBUG_INFO:
		return add_lines(r, rec);
	default:
		return true;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct code_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool keep_code(struct dso_jit_lines *l, const struct reader *r)
{
	l->machine = (uint16_t)r->dump.machine;
	for (size_t i = 0; i < r->code.nr; i++) {
		const struct loaded *c = &r->code.data[i];

		if (bytes_left(&c->code) < c->size || c->addr > UINT64_MAX - c->size)
			continue;
		if (!vec_push(&l->code,
			      (struct code_region){c->addr, c->addr + c->size, c->code.pos}))
			return false;
	}
	if (l->code.nr)
		qsort(l->code.data, l->code.nr, sizeof(*l->code.data), by_start);
	return true;
}

static bool add_syms(struct sym_table *t, const struct reader *r)
{
	for (size_t i = 0; i < r->code.nr; i++) {
		const struct loaded *c = &r->code.data[i];
		struct sym s = {
			.start = c->addr, .end = c->addr + c->size, .is_own = 1, .type = STT_FUNC};

		s.name = sym_table_own_name(t, c->name, strlen(c->name));
		if (s.name == SYM_NO_NAME || !sym_table_add(t, &s, STB_GLOBAL))
			return false;
	}
	return true;
}

static int by_addr(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool read_dump(struct dso *d, struct reader *r)
{
	struct dso_jit_lines *l = r->lines;
	struct jitdump_record rec;

	if (jitdump_open(&r->dump, bytes_of(l->map.data, l->map.size), NULL))
		return false;
	while (!jitdump_next(&r->dump, &rec)) {
		if (!take(r, &rec))
			return false;
	}
	if (l->lines.nr)
		qsort(l->lines.data, l->lines.nr, sizeof(*l->lines.data), by_addr);
	sym_table_init(&d->table, NULL, 0);
	d->table.budget = d->store->opts.budget;
	return keep_code(l, r) && add_syms(&d->table, r);
}

bool dso_load_jitdump(struct dso *d, const char *path)
{
	int fd = os_open_trusted(path, dso_jit_owner(d));
	struct reader r = {0};
	bool ok;

	r.lines = fd < 0 ? NULL : mem_zalloc(sizeof(*r.lines));
	/* Lines and symbols are less than the file. */
	ok = r.lines && !os_map_fd(fd, &r.lines->map, NULL) &&
	     r.lines->map.size <= DUMP_MAX_BYTES &&
	     dso_store_charge(d->store, 2 * r.lines->map.size, "the file", path) &&
	     read_dump(d, &r);
	os_close(fd);
	if (!r.lines)
		return false;
	reader_done(&r);
	if (ok && dso_finish_table(d, SYM_FILL_NONE, path)) {
		d->jit_lines = r.lines;
		return true;
	}
	sym_table_done(&d->table);
	dso_jit_lines_free(r.lines);
	return false;
}

bool dso_jit_find_code(struct dso *d, uint64_t rel, struct code_region *ret, uint16_t *ret_machine)
{
	const struct dso_jit_lines *l;
	size_t after;

	if (!d->has_asked)
		dso_find_sym(d, rel);
	l = d->jit_lines;
	after = search_first(l ? l->code.nr : 0, i, l->code.data[i].start > rel);
	if (!after || rel >= l->code.data[after - 1].end)
		return false;
	*ret = l->code.data[after - 1];
	*ret_machine = l->machine;
	return true;
}

size_t dso_jit_find_lines(struct dso *d, uint64_t rel, const struct dso_sym *sym,
			  struct dso_line *ret, size_t max)
{
	const struct dso_jit_lines *l = d->jit_lines;
	size_t after = search_first(l ? l->lines.nr : 0, i, l->lines.data[i].addr > rel);

	if (!after || !sym || !max || l->lines.data[after - 1].addr < sym->start)
		return 0;
	ret[0] = (struct dso_line){.file = l->lines.data[after - 1].file,
				   .line = l->lines.data[after - 1].line,
				   .link_name = sym->link_name};
	return 1;
}
