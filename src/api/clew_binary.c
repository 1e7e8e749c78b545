/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/session.h>

#include "image/dso.h"

static const struct dso *dso_of(const struct clew_binary *b)
{
	return (const struct dso *)b;
}

static const struct dso_sym *sym_of(const struct clew_symbol *s)
{
	return (const struct dso_sym *)s;
}

const char *clew_binary_path(const struct clew_binary *b)
{
	return b ? dso_path(dso_of(b)) : NULL;
}

const char *clew_binary_name(const struct clew_binary *b)
{
	return b ? dso_short_name(dso_of(b)) : NULL;
}

const uint8_t *clew_binary_build_id(const struct clew_binary *b, size_t *ret_bytes)
{
	const struct dso_build_id *id = b ? dso_build_id(dso_of(b)) : NULL;

	if (ret_bytes)
		*ret_bytes = id ? id->size : 0;
	return id && id->size ? id->bytes : NULL;
}

const char *clew_symbol_name(const struct clew_symbol *s)
{
	return s ? sym_of(s)->name : NULL;
}

const char *clew_symbol_link_name(const struct clew_symbol *s)
{
	return s ? sym_of(s)->link_name : NULL;
}

uint64_t clew_symbol_start(const struct clew_symbol *s)
{
	return s ? sym_of(s)->start : 0;
}

uint64_t clew_symbol_end(const struct clew_symbol *s)
{
	return s ? sym_of(s)->end : 0;
}
