/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_place.h"

#include "base/text_list.h"
#include "format/script/script_fields.h"

bool script_keeps(const char *symbols, const char *dsos, const struct ana_loc *loc)
{
	if (symbols && (!loc || !loc->sym || !dso_sym_is_in_list(loc->sym, symbols)))
		return false;
	return !dsos || (loc && loc->dso &&
			 (text_list_has(dsos, dso_path(loc->dso)) ||
			  text_list_has(dsos, dso_short_name(loc->dso))));
}

static uint64_t sym_offset(const struct ana_loc *loc)
{
	return loc->sym ? loc->rel - loc->sym->start : ana_loc_address(loc);
}

static void add_offset(struct buf *b, uint64_t offset)
{
	buf_str(b, "+0x");
	buf_hex(b, offset, 0, ' ');
}

void script_add_sym(struct buf *b, const struct script_place_style *style,
		    const struct ana_loc *loc, bool has_offset)
{
	if (!loc->sym) {
		buf_str(b, loc->level == ANA_COOKIE ? "(cookie)" : "[unknown]");
		return;
	}
	escape_memo_add(style->names, b, loc->sym->name);
	if (has_offset)
		add_offset(b, sym_offset(loc));
}

static const char *dso_name(const struct script_place_style *style, const struct dso *d)
{
	const char *file = NULL, *base;

	if (!d)
		return "[unknown]";
	if (style->has_kernel_path && dso_kind(d) == DSO_KERNEL)
		file = dso_symbol_file(d);
	base = file ? strrchr(file, '/') : NULL;
	/* a list of symbols is not a kernel file */
	return base && strcmp(base, "/kallsyms") != 0 ? file : dso_path(d);
}

void script_add_dso(struct buf *b, const struct script_place_style *style,
		    const struct ana_loc *loc)
{
	buf_char(b, '(');
	escape_memo_add(style->names, b, dso_name(style, loc->dso));
	if (style->fields & SCRIPT_DSOFF && loc->dso)
		add_offset(b, ana_loc_address(loc));
	buf_char(b, ')');
}

/* Where nothing names the line: the binary and the address in it. */
static void add_source(struct buf *b, const struct script_place_style *style,
		       const struct ana_loc *loc, uint32_t line)
{
	const struct dso_line *l = line < loc->nr_lines ? &loc->lines[line] : NULL;
	const char *file = l ? l->file : NULL, *slash;

	if (!loc->dso)
		return;
	buf_str(b, "\n  ");
	if (!file) {
		escape_str(b, dso_short_name(loc->dso));
		buf_char(b, '[');
		buf_hex(b, ana_loc_address(loc), 0, ' ');
		buf_char(b, ']');
		return;
	}
	slash = style->is_full_path ? NULL : strrchr(file, '/');
	escape_str(b, slash ? slash + 1 : file);
	buf_char(b, ':');
	buf_dec(b, l->line, 0, ' ');
}

/* The run-time address; in a call chain, for user code, the address inside the binary, which does
 * not change from run to run. */
static uint64_t shown_address(const struct ana_loc *loc, bool is_chain)
{
	if (!is_chain || !loc->dso || dso_kind(loc->dso) == DSO_KERNEL ||
	    dso_kind(loc->dso) == DSO_MODULE)
		return loc->ip;
	return ana_loc_address(loc);
}

static void add_inlined(struct buf *b, const struct script_place_style *style,
			const struct ana_loc *loc, uint32_t line)
{
	const char *name = loc->lines[line].function;

	if (style->fields & SCRIPT_SYM) {
		buf_char(b, ' ');
		escape_str(b, name ? name : "[unknown]");
		if (style->fields & SCRIPT_SYMOFF)
			add_offset(b, sym_offset(loc));
	}
	if (style->fields & (SCRIPT_DSO | SCRIPT_DSOFF))
		buf_str(b, " (inlined)");
}

static void add_place(struct buf *b, const struct script_place_style *style,
		      const struct ana_loc *loc, uint32_t line, bool is_inlined)
{
	buf_char(b, style->is_chain ? '\t' : ' ');
	buf_hex(b, shown_address(loc, style->is_chain), 16, ' ');
	if (is_inlined) {
		add_inlined(b, style, loc, line);
	} else {
		if (style->fields & SCRIPT_SYM) {
			buf_char(b, ' ');
			script_add_sym(b, style, loc, style->fields & SCRIPT_SYMOFF);
		}
		if (style->fields & (SCRIPT_DSO | SCRIPT_DSOFF)) {
			buf_char(b, ' ');
			script_add_dso(b, style, loc);
		}
	}
	if (style->fields & SCRIPT_SRCLINE)
		add_source(b, style, loc, line);
	if (style->is_chain)
		buf_char(b, '\n');
}

void script_place_text(struct buf *b, const struct script_place_style *style,
		       const struct ana_loc *loc)
{
	bool has_inlines = style->is_chain && style->has_inlines && loc->nr_lines;
	uint32_t outermost = has_inlines ? loc->nr_lines - 1 : 0;

	for (uint32_t i = 0; i < outermost; i++)
		add_place(b, style, loc, i, true);
	add_place(b, style, loc, outermost, false);
}

void script_places_add(struct script_places *p, script_place_make *make,
		       const struct script_place_style *style, const struct ana_loc *loc,
		       struct buf *out)
{
	struct script_place *e;

	if (!vec_reach(&p->of_loc, (size_t)loc->id + 1)) {
		make(out, style, loc);
		return;
	}
	if (p->text.nr > SCRIPT_PLACES_MAX_BYTES)
		script_places_forget(p);
	e = &p->of_loc.data[loc->id];
	if (!e->len) {
		size_t at = p->text.nr;

		make(&p->text, style, loc);
		if (p->text.is_failed)
			out->is_failed = true;
		*e = (struct script_place){(uint32_t)at, (uint32_t)(p->text.nr - at)};
	}
	buf_add(out, p->text.data + e->at, e->len);
}

void script_places_forget(struct script_places *p)
{
	buf_clear(&p->text);
	if (p->of_loc.nr)
		memset(p->of_loc.data, 0, p->of_loc.nr * sizeof(*p->of_loc.data));
}

void script_places_done(struct script_places *p)
{
	buf_done(&p->text);
	vec_done(&p->of_loc);
}
