/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_EVENT_EVENT_SYMBOL_H
#define RECORD_EVENT_EVENT_SYMBOL_H

#include "base/err.h"
#include "elf/elf_sym.h"
#include "elf/sym_name.h"
#include "record/event/event_spell.h"

/** @p path could not be opened, or is no ELF file. @p at: the place in the text. */
enum clew_err event_not_readable(struct event_parse *p, const char *at, const char *path,
				 const struct clew_diag *d);

/** @p f has no @p symbol: with the nearest name, or why there is none. */
enum clew_err event_no_symbol(struct event_parse *p, const struct elf_file *f, const char *path,
			      struct event_word symbol);

/** The functions of a name, one after the other. */
void sym_named_text(const struct sym_named *n, char *ret, size_t size);

#endif
