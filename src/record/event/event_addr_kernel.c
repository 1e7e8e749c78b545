/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <ctype.h>
#include <string.h>

#include "elf/kallsyms.h"
#include "os/file.h"
#include "record/event/event_addr.h"

enum { MAX_KALLSYMS = 256 << 20 };

struct kernel_text {
	struct event_parse *p;
	struct bytes text; /* of /proc/kallsyms */
};

static bool is_code(const struct kallsyms_line *l)
{
	return strchr("tw", tolower((unsigned char)l->type));
}

/* The next symbol's address ends a function: there are no sizes. */
static void set_ends(const struct kernel_text *k, struct addr_symbols *found)
{
	struct bytes text = k->text;
	struct kallsyms_line l;

	while (kallsyms_next(&text, &l))
		vec_for_each (found, s)
			if (is_code(&l) && l.addr > s->start && (!s->end || l.addr < s->end))
				s->end = l.addr;
	vec_for_each (found, s)
		if (!s->end)
			s->end = sym_end_of_last(s->start);
}

static enum clew_err find_named(const struct kernel_text *k, struct event_word name,
				struct addr_symbols *found)
{
	struct bytes text = k->text;
	struct kallsyms_line l;
	bool is_hidden = true;

	while (kallsyms_next(&text, &l)) {
		struct addr_symbol s = {.start = l.addr,
					.is_global = isupper((unsigned char)l.type)};

		is_hidden &= !l.addr;
		if (l.name_bytes != name.n || memcmp(l.name, name.s, name.n) || !is_code(&l))
			continue;
		if (!vec_push(found, s))
			return event_no_memory(k->p);
	}
	if (is_hidden)
		return event_fail(k->p, name.s, CLEW_OS,
				  "the kernel hides its addresses from you; run as root, or: sudo "
				  "sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	if (!found->nr)
		return event_fail(k->p, name.s, CLEW_NOT_FOUND,
				  "the kernel has no function '%.*s'; one of a program needs its "
				  "file: %.*s @ FILE",
				  (int)name.n, name.s, (int)name.n, name.s);
	set_ends(k, found);
	return CLEW_OK;
}

static enum clew_err look_up(void *ctx, const struct addr_place *place, struct addr_symbol *ret)
{
	const struct kernel_text *k = ctx;
	struct addr_symbols found = {0};
	enum clew_err err = find_named(k, place->symbol, &found);

	if (err == CLEW_OK)
		err = event_addr_choose(k->p, place, &found, "the kernel", ret);
	vec_done(&found);
	return err;
}

static enum clew_err take_whole(struct kernel_text *k, struct addr_filter *f)
{
	const struct addr_place first =
					{
						.symbol = {"_stext", 6},
                                                  .nth = ADDR_ONLY
        },
				last = {.symbol = {"_etext", 6}, .nth = ADDR_ONLY};
	struct addr_symbol start, end;
	enum clew_err err = look_up(k, &first, &start);

	if (err == CLEW_OK)
		err = look_up(k, &last, &end);
	if (err != CLEW_OK)
		return event_fail(k->p, f->start.symbol.s, err,
				  "where the kernel's code lies is unknown: /proc/kallsyms has no "
				  "address of _stext and _etext for you");
	f->from = start.start;
	return event_addr_end_at(k->p, f, end.start);
}

enum clew_err event_addr_in_kernel(struct event_parse *p, struct addr_filter *f)
{
	const char *path = p->list->kallsyms ? p->list->kallsyms : "/proc/kallsyms";
	struct kernel_text k = {.p = p};
	enum clew_err err;
	char *text;
	size_t n;

	f->from = f->start.number;
	f->bytes = f->end.number;
	if (!f->start.symbol.n && !f->end.symbol.n)
		return CLEW_OK;
	if (os_read_file(path, MAX_KALLSYMS, &text, &n, NULL))
		return event_fail(p, f->start.symbol.s, CLEW_OS,
				  "%s cannot be read: the kernel's symbols are unknown", path);
	k.text = bytes_of(text, n);
	err = f->is_whole ? take_whole(&k, f) : event_addr_range(p, f, look_up, &k);
	mem_free(text);
	return err;
}
