/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/event/event_symbol.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/file.h"

enum { MAX_SYMBOL = 4096 };

enum clew_err event_not_readable(struct event_parse *p, const char *at, const char *path,
				 const struct clew_diag *d)
{
	if (d->code == CLEW_OS)
		return event_fail(p, at, CLEW_OS, "cannot open '%s': %s%s", path,
				  strerror(d->os_errno),
				  d->os_errno == EACCES ? " (run as a user who may read it)" : "");
	return event_fail(p, at, CLEW_BAD_FILE, "'%s' is not an ELF file, so it has no functions",
			  path);
}

static void guess(struct event_guess *g, const struct elf_file *f)
{
	struct sym_table t;

	sym_table_init(&t, NULL, 0);
	if (elf_sym_collect(&t, f, f, ELF_SYM_ADDRESSES, NULL) == CLEW_OK &&
	    sym_table_finish(&t, SYM_FILL_ELF)) {
		for (size_t i = 0; i < t.nr; i++)
			event_guess_try(g, sym_name(&t, &t.syms[i]));
	}
	sym_table_done(&t);
}

enum clew_err event_no_symbol(struct event_parse *p, const struct elf_file *f, const char *path,
			      struct event_word symbol)
{
	struct event_guess g;
	char text[160];

	event_guess_start(&g, symbol);
	guess(&g, f);
	event_guess_text(&g, text, sizeof(text));
	return event_fail(p, symbol.s, CLEW_NOT_FOUND, "'%s' has no symbol '%.*s'%s%s", path,
			  (int)symbol.n, symbol.s, *g.near.best ? text : "",
			  *g.near.best ? ""
			  : elf_has_symtab(f)
				  ? "; it may be inlined"
				  : "; its symbols are stripped: a file offset (0x...) works too");
}

void sym_named_text(const struct sym_named *n, char *ret, size_t size)
{
	size_t at = 0, i = 0;

	*ret = '\0';
	for (; i < SYM_NAMED_MAX && n->others[i] && at < size; i++)
		at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? "; " : "", n->others[i]);
	if (n->nr > i && at < size)
		snprintf(ret + at, size - at, "; ...");
}

static enum clew_err ask_which(struct event_parse *p, const char *path, struct event_word symbol,
			       const struct sym_named *found)
{
	char text[1024];

	sym_named_text(found, text, sizeof(text));
	return event_fail(p, symbol.s, CLEW_INVALID, "'%s' has %zu functions '%.*s': %s", path,
			  found->nr, (int)symbol.n, symbol.s, text);
}

static enum clew_err look_up(struct event_parse *p, const struct elf_file *f, const char *path,
			     struct event_word symbol, uint64_t *ret)
{
	struct sym_named found;
	char name[MAX_SYMBOL];
	enum clew_err err;

	if (symbol.n >= sizeof(name))
		return event_fail(p, symbol.s, CLEW_INVALID, "longer than a symbol may be");
	memcpy(name, symbol.s, symbol.n);
	name[symbol.n] = '\0';
	if (!sym_name_find(f, name, &found))
		return event_no_memory(p);
	err = CLEW_OK;
	if (!found.nr)
		err = event_no_symbol(p, f, path, symbol);
	else if (found.nr > 1)
		err = ask_which(p, path, symbol, &found);
	else if (!elf_file_offset(f, found.address, ret))
		err = event_fail(p, symbol.s, CLEW_NOT_FOUND, "'%s' is not in the file's code",
				 name);
	sym_named_done(&found);
	return err;
}

enum clew_err event_symbol_offset(struct event_parse *p, const char *path, struct event_word symbol,
				  uint64_t *ret)
{
	struct clew_diag diag = {0};
	struct os_map map = {0};
	struct elf_file f = {0};
	enum clew_err err = os_map_file(path, &map, &diag);

	if (!err)
		err = elf_file_open(&f, map.data, map.size, &diag);
	err = err ? event_not_readable(p, p->start, path, &diag)
		  : look_up(p, &f, path, symbol, ret);
	elf_file_done(&f);
	os_map_done(&map);
	return err;
}
