/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "elf/demangle.h"
#include "image/dso_priv.h"

/* What all loaders of symbols use: memory of the store, its budget, and the end of a table. */

const char dso_over_budget[] = "it needs more than the memory budget has left";

char *dso_keep(struct dso_store *s, const char *text)
{
	return arena_strndup(&s->text, text, strlen(text));
}

static bool wants_demangled(const struct dso *d)
{
	switch (d->kind) {
	case DSO_KERNEL:
	case DSO_MODULE:
		return d->store->opts.demangle_kernel;
	case DSO_JIT:
		return false; /* the compiler wrote what it wants to be shown */
	case DSO_USER:
	case DSO_VDSO:
	case DSO_NO_CODE:
		break;
	}
	return !d->store->opts.no_demangle;
}

static const char *demangled(void *ctx, const char *name)
{
	struct dso *d = ctx;

	buf_clear(&d->store->scratch);
	return demangle(name, &d->store->scratch) ? buf_cstr(&d->store->scratch) : name;
}

const char *dso_shown_name(struct dso *d, const char *name)
{
	return wants_demangled(d) ? demangled(d, name) : name;
}

bool dso_store_charge(struct dso_store *s, uint64_t bytes, const char *what, const char *path)
{
	if (!budget_take_for(s->opts.budget, bytes, what, path))
		return false;
	s->charged += bytes;
	return true;
}

void dso_store_uncharge(struct dso_store *s, uint64_t bytes)
{
	budget_give(s->opts.budget, bytes);
	s->charged -= bytes;
}

const char *dso_refuse_symbols(struct dso_store *s, const char *path)
{
	budget_refuse(s->opts.budget, 0, "the symbols of", path);
	return dso_over_budget;
}

bool dso_finish_table(struct dso *d, enum sym_fill fill, const char *from)
{
	if (wants_demangled(d)) {
		d->table.shown_name = demangled;
		d->table.shown_ctx = d;
	}
	if (!sym_table_finish(&d->table, fill)) {
		d->why = d->table.is_over_budget ? dso_refuse_symbols(d->store, from)
						 : "out of memory";
		return false;
	}
	if (!d->table.nr)
		return false;
	d->symbol_file = dso_keep(d->store, from);
	return true;
}
