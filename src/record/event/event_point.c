/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "record/event/event_spell.h"

/* Breakpoints: "mem:ADDR[/LEN][:rwx]". Spec: perf-record(1), -e; <linux/hw_breakpoint.h>. */

enum { BP_READ = 1, BP_WRITE = 2, BP_EXECUTE = 4, BP_MAX_BYTES = 8 };

static uint32_t access_of(struct event_word w)
{
	uint32_t type = 0;

	for (size_t i = 0; i < w.n; i++) {
		uint32_t bit = w.s[i] == 'r' ? BP_READ
			     : w.s[i] == 'w' ? BP_WRITE
			     : w.s[i] == 'x' ? BP_EXECUTE
					     : 0;

		if (!bit || type & bit)
			return 0;
		type |= bit;
	}
	return type;
}

static enum clew_err parse_length(struct event_parse *p, uint64_t *ret)
{
	struct event_word w;

	p->pos++;
	w = event_take_until(p, ":,{}/");
	if (!event_word_number(w, ret) || *ret < 1 || *ret > BP_MAX_BYTES)
		return event_fail(p, w.s, CLEW_INVALID,
				  "a breakpoint watches 1, 2, 4 or 8 bytes: mem:ADDRESS/8:w");
	return CLEW_OK;
}

/* What follows ':' is an access, or else modifiers, which the caller reads. */
static enum clew_err parse_access(struct event_parse *p, uint32_t *ret)
{
	const char *colon = p->pos++;
	struct event_word w = event_take_until(p, ":,{}/");
	uint32_t type = access_of(w);

	if (!type && event_is_modifiers(w)) {
		p->pos = colon;
		return CLEW_OK;
	}
	if (!type)
		return event_fail(p, w.s, CLEW_INVALID,
				  "an access is one of r, w, rw, x, not '%.*s'", (int)w.n, w.s);
	if (type & BP_EXECUTE && type != BP_EXECUTE)
		return event_fail(p, w.s, CLEW_INVALID,
				  "x excludes r and w: code and data need a breakpoint each");
	*ret = type;
	return CLEW_OK;
}

enum clew_err event_parse_breakpoint(struct event_parse *p)
{
	struct event_word w = event_take_until(p, ":,{}/ ");
	uint64_t address, length = 0;
	uint32_t type = BP_READ | BP_WRITE;
	enum clew_err err = CLEW_OK;
	struct rec_event *e;

	if (!event_word_number(w, &address))
		return event_fail(p, w.s, CLEW_INVALID,
				  "a breakpoint needs an address, such as mem:0x401000:x");
	if (*p->pos == '/' && p->pos[1] >= '0' && p->pos[1] <= '9')
		err = parse_length(p, &length);
	if (!err && *p->pos == ':')
		err = parse_access(p, &type);
	if (err)
		return err;
	e = event_add(p, PERF_TYPE_BREAKPOINT, 0);
	if (!e)
		return event_no_memory(p);
	e->attr.bp_type = type;
	e->attr.config1 = address;
	/* The kernel wants sizeof(long) for code. */
	e->attr.config2 = length ? length : type == BP_EXECUTE ? sizeof(long) : 4;
	e->attr.sample_period = 1;
	return CLEW_OK;
}

/*
 * Probes: "uprobe:PATH:SYMBOL[+OFFSET]", "uprobe:PATH:0xFILEOFFSET", "kprobe:SYMBOL[+OFFSET]",
 * "kprobe:0xADDRESS", and u/kretprobe. They live as long as the recording. A ':' or ',' of the path
 * is written with a backslash.
 */

static char *take_path(struct event_parse *p)
{
	size_t n = 0;
	char *path;

	while (p->pos[n] && p->pos[n] != ':' && p->pos[n] != ',')
		n += p->pos[n] == '\\' && p->pos[n + 1] ? 2 : 1;
	path = event_copy(p, p->pos, n);
	p->pos += n;
	n = 0;
	for (const char *s = path; s && *s; s++) {
		if (*s == '\\' && s[1])
			s++;
		path[n++] = *s;
	}
	if (path)
		path[n] = '\0';
	return path;
}

static enum clew_err parse_place(struct event_parse *p, struct event_word *symbol, uint64_t *offset)
{
	struct event_word w = event_take_symbol(p, "+:,{}/ ");

	*symbol = w;
	*offset = 0;
	if (!w.n)
		return event_fail(p, w.s, CLEW_INVALID,
				  "a probe needs a symbol or an address here");
	if (*p->pos != '+')
		return CLEW_OK;
	p->pos++;
	w = event_take_until(p, ":,{}/ ");
	if (!event_word_number(w, offset))
		return event_fail(p, w.s, CLEW_INVALID, "an offset is a number: %.*s+0x10",
				  (int)symbol->n, symbol->s);
	return CLEW_OK;
}

static enum clew_err no_probe_pmu(struct event_parse *p, const char *pmu)
{
	return event_fail(p, p->start, CLEW_NOT_FOUND,
			  "this kernel has no %ss: it is built without CONFIG_%s_EVENTS", pmu,
			  *pmu == 'u' ? "UPROBE" : "KPROBE");
}

static enum clew_err add_probe(struct event_parse *p, const char *name, bool is_return)
{
	struct os_pmus *pmus = event_pmus(p);
	struct os_pmu *pmu = os_pmus_find(pmus, name, strlen(name));
	const struct os_pmu_format *f;
	struct rec_event *e;

	if (!pmu)
		return no_probe_pmu(p, name);
	if (os_pmu_load(pmus, pmu))
		return event_no_memory(p);
	e = event_add(p, pmu->type, 0);
	if (!e)
		return event_no_memory(p);
	e->pmu = *name == 'u' ? "uprobe" : "kprobe";
	e->attr.sample_period = 1;
	if (!is_return)
		return CLEW_OK;
	f = os_pmu_format_find(pmu, "retprobe", strlen("retprobe"));
	if (!f)
		return event_fail(p, p->start, CLEW_NOT_FOUND, "this kernel has no return probes");
	e->attr.config |= f->mask;
	return CLEW_OK;
}

static enum clew_err place_uprobe(struct event_parse *p, const char *path, struct event_word symbol,
				  uint64_t offset)
{
	struct rec_event *e = &p->list->events.data[p->first_here];
	uint64_t at;

	e->probe_path = path;
	if (!event_word_number(symbol, &at)) {
		enum clew_err err = event_symbol_offset(p, path, symbol, &at);

		if (err)
			return err;
	}
	e->attr.config2 = at + offset;
	return CLEW_OK;
}

static enum clew_err place_kprobe(struct event_parse *p, struct event_word symbol, uint64_t offset)
{
	struct rec_event *e = &p->list->events.data[p->first_here];
	uint64_t at;

	if (event_word_number(symbol, &at)) {
		e->attr.config2 = at + offset;
		return CLEW_OK;
	}
	e->probe_symbol = event_copy(p, symbol.s, symbol.n);
	e->attr.config2 = offset;
	return e->probe_symbol ? CLEW_OK : event_no_memory(p);
}

enum clew_err event_parse_probe(struct event_parse *p, const char *pmu, bool is_return)
{
	bool is_user = *pmu == 'u';
	const char *path = NULL;
	struct event_word symbol;
	uint64_t offset;
	enum clew_err err;

	if (is_user) {
		path = take_path(p);
		if (!path)
			return event_no_memory(p);
		if (*p->pos != ':' || !*path)
			return event_fail(
				p, p->pos, CLEW_INVALID,
				"a user space probe is spelled uprobe:PATH:SYMBOL[+OFFSET]");
		p->pos++;
	}
	err = parse_place(p, &symbol, &offset);
	if (!err)
		err = add_probe(p, pmu, is_return);
	if (err)
		return err;
	return is_user ? place_uprobe(p, path, symbol, offset) : place_kprobe(p, symbol, offset);
}
