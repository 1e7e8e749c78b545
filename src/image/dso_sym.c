/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/sym_name.h"
#include "image/dso_priv.h"

#define FUNC_NUMBER ((uint64_t)1 << 62) /* bits that no number in a table has */
#define LINE_NUMBER ((uint64_t)1 << 63)

static void load(struct dso *d)
{
	d->has_asked = true;
	switch (d->kind) {
	case DSO_USER:
		dso_load_user(d);
		break;
	case DSO_KERNEL:
	case DSO_MODULE:
		dso_load_kernel(d);
		break;
	case DSO_VDSO:
		dso_load_vdso(d);
		break;
	case DSO_JIT:
		dso_load_jit(d);
		break;
	case DSO_NO_CODE:
		d->why = "memory that holds no code";
		break;
	}
}

/** A symbol by its number in its table, or by the place of its line among the kernel's. */
struct found {
	uint64_t number, start, end;
};

static const struct dso_sym *seen_sym(const struct dso *d, uint64_t number)
{
	uint64_t *at = map_u64_get(&d->found, number);

	return at ? (const struct dso_sym *)(uintptr_t)*at : NULL;
}

/** The symbol in the form callers see, made when first asked for. */
static const struct dso_sym *shown_sym(struct dso *d, const struct found *f, const char *name)
{
	struct dso_sym *n = arena_zalloc(&d->store->text, sizeof(*n));
	const char *shown;

	if (!n)
		return NULL;
	n->start = f->start - d->kernel_delta;
	n->end = f->end - d->kernel_delta;
	n->link_name = n->name = name;
	shown = dso_shown_name(d, name);
	if (shown != name && !(n->name = dso_keep(d->store, shown)))
		return NULL;
	return map_u64_put(&d->found, f->number, (uintptr_t)n) ? n : NULL;
}

/** @p of as a symbol of @p d: rows and branches distinguish files by it. */
static const struct dso_sym *own_sym(struct dso *d, const struct dso_sym *of)
{
	const struct dso_sym *seen = of ? seen_sym(d, (uintptr_t)of) : NULL;
	struct dso_sym *n;

	if (!of || seen)
		return seen;
	n = arena_alloc(&d->store->text, sizeof(*n));
	if (!n || !map_u64_put(&d->found, (uintptr_t)of, (uintptr_t)n))
		return NULL;
	*n = *of;
	return n;
}

static const struct dso_sym *sym_in_table(struct dso *d, const struct sym_table *t, uint64_t addr)
{
	const struct sym *s = sym_table_find(t, addr);
	const struct dso_sym *seen;

	d->has_missed |= !s;
	if (!s || (d->kernel && s->module != d->module))
		return NULL;
	seen = seen_sym(d, (uint64_t)(s - t->syms));
	return seen ? seen
		    : shown_sym(d, &(struct found){(uint64_t)(s - t->syms), s->start, s->end},
				sym_name(t, s));
}

static const struct dso_sym *sym_of_line(struct dso *d, const struct kallsyms_line *l, uint64_t end)
{
	uint64_t at = (uint64_t)((const uint8_t *)l->name - d->kernel->index.lines.pos);
	struct found f = {at | LINE_NUMBER, l->addr, end};
	const struct dso_sym *seen;
	char *name;

	if (d->module)
		return NULL;
	seen = seen_sym(d, f.number);
	if (seen)
		return seen;
	name = arena_strndup(&d->store->text, l->name, l->name_bytes);
	return name ? shown_sym(d, &f, name) : NULL;
}

/** A function of a jitdump file: at its own place, or what is at an address in the end. */
static const struct dso_sym *sym_of_jit(struct dso *d, uint64_t rel)
{
	bool is_gone;
	const struct jit_func *f = jit_code_find(d->jit, &rel, &is_gone);
	const struct dso_sym *seen;
	struct found found;

	if (!f)
		return rel < JIT_HIDDEN && !is_gone ? sym_in_table(d, &d->table, rel) : NULL;
	found = (struct found){(uint64_t)(f - d->jit->funcs.data) | FUNC_NUMBER, f->rel,
			       f->rel + f->size};
	seen = seen_sym(d, found.number);
	return seen ? seen : shown_sym(d, &found, f->name);
}

const struct dso_sym *dso_find_sym(struct dso *d, uint64_t rel)
{
	struct kallsyms_line line;
	uint64_t end;

	if (dso_owner(d) != d)
		return own_sym(d, dso_find_sym(d->same, rel));
	if (!d->has_asked)
		load(d);
	rel += d->kernel_delta;
	if (d->jit)
		return sym_of_jit(d, rel);
	if (!d->kernel)
		return sym_in_table(d, &d->table, rel);
	if (kallsyms_index_find(&d->kernel->index, rel, &line, &end))
		return sym_of_line(d, &line, end);
	return sym_in_table(d, &d->kernel->table, rel);
}

/* --- asked for by name --- */

bool dso_sym_is(const struct dso_sym *s, const char *name)
{
	return sym_name_is(s->name, s->link_name, name, strlen(name));
}

bool dso_sym_is_in_list(const struct dso_sym *s, const char *list)
{
	while (*list) {
		size_t n = sym_name_span(list, ",");

		if (sym_name_is(s->name, s->link_name, list, n))
			return true;
		list += n;
		list += *list == ',';
	}
	return false;
}
