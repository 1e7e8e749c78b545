/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/kallsyms_index.h"

#include "base/search.h"

enum {
	HEX_BYTES = 16,
	NAME_AT = HEX_BYTES + 3, /* " T " */
	LINES_PER_MARK = 64
};

/* 0x10 marks a digit; the kernel writes small letters. */
/* clang-format off */
static const uint8_t hex_of[256] = {
	['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
	['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
	['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f,
};
/* clang-format on */

/** What is known of the lines so far. */
struct pass {
	struct kallsyms_index x;
	struct kallsyms_info info;
	const char *ref_name;
	size_t ref_bytes;
	const uint8_t *high_text; /* the eight digits that high stands for; NULL: none yet */
	uint64_t high, addr;
};

static bool take_8_digits(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = 0;
	uint8_t all = 0x10;

	for (int i = 0; i < HEX_BYTES / 2; i++) {
		v = v << 4 | (hex_of[p[i]] & 0xf);
		all &= hex_of[p[i]];
	}
	*ret = v;
	return all;
}

/** Lines that follow each other mostly have the upper digits in common. */
static bool take_address(struct pass *p, const uint8_t *line, uint64_t *ret)
{
	uint64_t low;

	if (!p->high_text || memcmp(p->high_text, line, HEX_BYTES / 2) != 0) {
		if (!take_8_digits(line, &p->high))
			return false;
		p->high_text = line;
	}
	if (!take_8_digits(line + HEX_BYTES / 2, &low))
		return false;
	*ret = p->high << 32 | low;
	return true;
}

static enum clew_err take_line(struct pass *p, const uint8_t *pos, size_t bytes)
{
	struct kallsyms_line l = {0};

	if (bytes <= NAME_AT || pos[HEX_BYTES] != ' ' || pos[HEX_BYTES + 2] != ' ' ||
	    !take_address(p, pos, &l.addr) || l.addr < p->addr)
		return CLEW_UNSUPPORTED;
	p->addr = l.addr;
	l.type = (char)pos[HEX_BYTES + 1];
	l.name = (const char *)pos + NAME_AT;
	l.name_bytes = bytes - NAME_AT;
	kallsyms_note(&p->info, &l, p->ref_name, p->ref_bytes);
	if (!kallsyms_is_wanted(&l))
		return CLEW_OK;
	if (!p->info.nr)
		p->x.first = l.addr;
	p->x.last = l.addr;
	if (p->info.nr++ % LINES_PER_MARK)
		return CLEW_OK;
	return vec_push(&p->x.marks,
			(struct kallsyms_mark){l.addr, (uint32_t)(pos - p->x.lines.pos)})
		     ? CLEW_OK
		     : CLEW_NO_MEMORY;
}

static enum clew_err take_lines(struct pass *p)
{
	struct bytes left = p->x.lines;
	enum clew_err err = CLEW_OK;

	while (!err && bytes_left(&left)) {
		const uint8_t *nl = memchr(left.pos, '\n', bytes_left(&left));
		const uint8_t *end = nl ? nl : left.end;

		err = take_line(p, left.pos, (size_t)(end - left.pos));
		left.pos = nl ? nl + 1 : left.end;
	}
	if (!err && (!p->info.nr || p->info.nr > SYM_TABLE_MAX))
		err = CLEW_UNSUPPORTED;
	return err;
}

/** Only modules' lines have a tab. */
static struct bytes own_lines(struct bytes text)
{
	const uint8_t *tab = memchr(text.pos, '\t', bytes_left(&text));
	const uint8_t *nl = tab ? memrchr(text.pos, '\n', (size_t)(tab - text.pos)) : NULL;

	if (tab)
		text.end = nl ? nl + 1 : text.pos;
	return text;
}

enum clew_err kallsyms_index_open(struct kallsyms_index *x, struct bytes *text,
				  const char *ref_name, struct kallsyms_info *ret)
{
	struct pass p = {.info.is_all_zero = true,
			 .ref_name = ref_name,
			 .ref_bytes = ref_name ? strlen(ref_name) : 0};
	enum clew_err err = CLEW_UNSUPPORTED;

	if (!bytes_left(text))
		return err;
	p.x.lines = own_lines(*text);
	if (bytes_left(&p.x.lines) && bytes_left(&p.x.lines) <= UINT32_MAX &&
	    !memchr(p.x.lines.pos, '\0', bytes_left(&p.x.lines)))
		err = take_lines(&p);
	if (err) {
		kallsyms_index_done(&p.x);
		return err;
	}
	p.x.end = sym_end_of_last(p.x.last);
	*x = p.x;
	*ret = p.info;
	text->pos = p.x.lines.end;
	return CLEW_OK;
}

void kallsyms_index_done(struct kallsyms_index *x)
{
	vec_done(&x->marks);
	*x = (struct kallsyms_index){0};
}

bool kallsyms_index_is_apart(const struct kallsyms_index *x, const struct sym_table *t,
			     const struct kallsyms_info *rest)
{
	const struct sym *low = t->syms, *high = t->syms + t->nr;

	if (!t->nr)
		return true;
	/* Also those that gave way to a module's at the same address: they end what is in front. */
	if (rest->nr_own)
		return false;
	return !t->nr_ranges && ((low->start > x->last && low->start >= x->end) ||
				 (high[-1].start < x->first && high[-1].end <= x->first));
}

/** The last mark at or before @p addr, which is not before the first. */
static const struct kallsyms_mark *mark_of(const struct kallsyms_index *x, uint64_t addr)
{
	return &x->marks.data[search_first(x->marks.nr, i, x->marks.data[i].addr > addr) - 1];
}

bool kallsyms_index_find(const struct kallsyms_index *x, uint64_t addr, struct kallsyms_line *ret,
			 uint64_t *ret_end)
{
	struct kallsyms_line l, best = {0};
	struct bytes left = x->lines;
	uint64_t end = x->end;

	if (!x->marks.nr || addr < x->first || (addr >= x->end && addr != x->last))
		return false;
	left.pos += mark_of(x, addr)->at;
	/* Of those at one address only the last has a size, and that one counts. */
	while (kallsyms_next(&left, &l)) {
		if (!kallsyms_is_wanted(&l))
			continue;
		if (l.addr > addr) {
			end = l.addr;
			break;
		}
		best = l;
	}
	*ret = best;
	*ret_end = end;
	return best.name != NULL;
}
