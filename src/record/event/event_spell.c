/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/event/event_spell.h"

#include <stdarg.h>
#include <string.h>

#include "base/number.h"
#include "elf/sym_name.h"

enum { MAX_EVENTS = 16384 };

CLEW_COLD enum clew_err event_fail(struct event_parse *p, const char *at, enum clew_err code,
				   const char *format, ...)
{
	va_list args;

	if (!p->error)
		return code;
	va_start(args, format);
	rec_vfail(p->error, code, format, args);
	va_end(args);
	p->error->pos = at ? (size_t)(at - p->text) : 0;
	return code;
}

CLEW_COLD enum clew_err event_no_memory(struct event_parse *p)
{
	return event_fail(p, p->pos, CLEW_NO_MEMORY, "out of memory");
}

struct event_word event_take_until(struct event_parse *p, const char *stops)
{
	struct event_word w = {p->pos, strcspn(p->pos, stops)};

	p->pos += w.n;
	return w;
}

struct event_word event_take_symbol(struct event_parse *p, const char *stops)
{
	struct event_word w = {p->pos, sym_name_span(p->pos, stops)};

	p->pos += w.n;
	return w;
}

static bool word_number(struct event_word w, unsigned int base, uint64_t *ret)
{
	const char *at = w.s;

	return w.n && number_take(&at, w.s + w.n, base, ret) && at == w.s + w.n;
}

bool event_word_hex(struct event_word w, uint64_t *ret)
{
	return word_number(w, 16, ret);
}

bool event_word_number(struct event_word w, uint64_t *ret)
{
	if (w.n > 2 && w.s[0] == '0' && (w.s[1] == 'x' || w.s[1] == 'X'))
		return word_number((struct event_word){w.s + 2, w.n - 2}, 16, ret);
	return word_number(w, 10, ret);
}

bool event_word_size(struct event_word w, uint64_t *ret)
{
	const char *units = "KMG", *unit;
	uint64_t v;

	if (event_word_number(w, ret))
		return true;
	if (!w.n || !(unit = strchr(units, w.s[w.n - 1] & ~0x20)) || !*unit)
		return false;
	w.n--;
	if (!event_word_number(w, &v))
		return false;
	return !__builtin_mul_overflow(v, 1ull << 10 * (unit - units + 1), ret);
}

char *event_copy(struct event_parse *p, const char *s, size_t n)
{
	return arena_strndup(&p->list->memory, s, n);
}

struct rec_event *event_add(struct event_parse *p, uint32_t type, uint64_t config)
{
	struct rec_event e = {.leader = (uint32_t)p->list->events.nr};

	e.attr.type = type;
	e.attr.size = PERF_ATTR_SIZE_VER9;
	e.attr.config = config;
	e.attr.flags = PERF_ATTR_EXCLUDE_GUEST;
	if (p->list->events.nr >= MAX_EVENTS || !vec_push(&p->list->events, e))
		return NULL;
	return &p->list->events.data[p->list->events.nr - 1];
}

struct os_pmus *event_pmus(struct event_parse *p)
{
	if (!p->has_pmus) {
		/* Without sysfs the list is empty: generic events still work. */
		os_pmus_read(p->list->sysfs, &p->pmus, NULL);
		p->has_pmus = true;
	}
	return &p->pmus;
}
