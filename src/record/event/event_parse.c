/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "record/event/event_addr.h"

enum { MAX_TEXT = 1 << 20 };

static void skip_space(struct event_parse *p)
{
	p->pos += strspn(p->pos, " \t\n");
}

static bool is_event_end(char c)
{
	return !c || c == ',' || c == '}' || c == ' ' || c == '\t' || c == '\n';
}

static void guess_known(struct event_guess *g)
{
	char name[64];

	for (const struct event_known *k = event_hardware; k->name; k++) {
		event_guess_try(g, k->name);
		if (k->alias)
			event_guess_try(g, k->alias);
	}
	for (const struct event_known *k = event_software; k->name; k++) {
		event_guess_try(g, k->name);
		if (k->alias)
			event_guess_try(g, k->alias);
	}
	for (size_t i = 0; event_cache_name(i, name, sizeof(name)); i++)
		event_guess_try(g, name);
}

static enum clew_err unknown_event(struct event_parse *p, struct event_word w)
{
	struct event_guess g;
	char text[160];

	if (!w.n)
		return event_fail(p, w.s, CLEW_INVALID, "an event's name is missing here%s",
				  *w.s == '{' ? ": groups do not nest" : "");
	event_guess_start(&g, w);
	guess_known(&g);
	return event_fail(p, w.s, CLEW_NOT_FOUND, "no event '%.*s'%s%s", (int)w.n, w.s,
			  event_guess_text(&g, text, sizeof(text)),
			  *g.near.best ? "" : "; `clew list` shows all");
}

static enum clew_err add_known(struct event_parse *p, uint32_t type, uint64_t config)
{
	struct rec_event *e = event_add(p, type, config);

	if (!e)
		return event_no_memory(p);
	if (type == PERF_TYPE_SOFTWARE && config == PERF_COUNT_SW_BPF_OUTPUT) {
		e->attr.sample_type =
			PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
		e->attr.sample_period = 1;
	}
	return CLEW_OK;
}

/* "r1a8", as CPU manuals number events. */
static bool is_raw(struct event_word w, uint64_t *config)
{
	struct event_word digits = {w.s + 1, w.n - 1};

	if (w.n < 2 || *w.s != 'r')
		return false;
	return event_word_hex(digits, config) ||
	       (w.n > 3 && w.s[1] == '0' && w.s[2] == 'x' && event_word_number(digits, config));
}

/* "1:0": attr.type and attr.config as numbers */
static bool parse_numeric(struct event_parse *p, struct event_word w, enum clew_err *err)
{
	struct event_word config_word;
	uint64_t type, config;

	if (*p->pos != ':')
		return false;
	config_word.s = p->pos + 1;
	config_word.n = strcspn(config_word.s, ":,{}/");
	if (!event_word_number(w, &type) || type > UINT32_MAX ||
	    !event_word_number(config_word, &config))
		return false;
	p->pos = config_word.s + config_word.n;
	*err = event_add(p, (uint32_t)type, config) ? CLEW_OK : event_no_memory(p);
	return true;
}

/* ":name" with letters that are no modifiers */
static bool is_tracepoint_next(const struct event_parse *p)
{
	struct event_word w;

	if (*p->pos != ':')
		return false;
	w.s = p->pos + 1;
	w.n = strcspn(w.s, ":,{}/ \t\n");
	return w.n && !event_is_modifiers(w);
}

static enum clew_err parse_named(struct event_parse *p)
{
	struct event_word w = event_take_until(p, ":,{}/ \t\n");
	uint32_t type;
	uint64_t config;
	enum clew_err err;

	if (event_known_find(w, &type, &config))
		return type == PERF_TYPE_SOFTWARE ? add_known(p, type, config)
						  : event_add_generic(p, w, type, config);
	if (is_raw(w, &config) && *p->pos != '/')
		return add_known(p, PERF_TYPE_RAW, config);
	if (w.n && parse_numeric(p, w, &err))
		return err;
	if (w.n && *p->pos == '/') {
		p->pos++;
		return event_parse_pmu(p, w);
	}
	/* Looking through all PMUs is slow: not where it must be a tracepoint. */
	err = w.n && !is_tracepoint_next(p) ? event_parse_pmu_alias(p, w) : CLEW_NOT_FOUND;
	if (err == CLEW_NOT_FOUND && w.n && *p->pos == ':') {
		p->pos++;
		return event_parse_tracepoint(p, w, event_take_until(p, ":,{}/ \t\n"));
	}
	return err == CLEW_NOT_FOUND ? unknown_event(p, w) : err;
}

static bool take_prefix(struct event_parse *p, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(p->pos, prefix, n))
		return false;
	p->pos += n;
	return true;
}

static enum clew_err parse_kind(struct event_parse *p)
{
	if (take_prefix(p, "mem:"))
		return event_parse_breakpoint(p);
	if (take_prefix(p, "uprobe:"))
		return event_parse_probe(p, "uprobe", false);
	if (take_prefix(p, "uretprobe:"))
		return event_parse_probe(p, "uprobe", true);
	if (take_prefix(p, "kprobe:"))
		return event_parse_probe(p, "kprobe", false);
	if (take_prefix(p, "kretprobe:"))
		return event_parse_probe(p, "kprobe", true);
	return parse_named(p);
}

/* Terms and modifiers after the event proper. PMU events come with their terms already read, and
 * perf takes their modifiers with or without ':'. */
static enum clew_err parse_tail(struct event_parse *p)
{
	bool had_terms = p->pos[-1] == '/';
	enum clew_err err = CLEW_OK;

	if (*p->pos == '/' && !had_terms) {
		uint32_t type = p->list->events.data[p->first_here].attr.type;

		p->pos++;
		err = event_parse_terms(p, type != PERF_TYPE_TRACEPOINT &&
						   type != PERF_TYPE_BREAKPOINT);
		had_terms = true;
	}
	if (err)
		return err;
	if (*p->pos == ':')
		p->pos++;
	else if (!had_terms || is_event_end(*p->pos))
		return CLEW_OK;
	return event_parse_modifiers(p, p->first_here, p->list->events.nr, false);
}

/* One spelling, several PMUs: "uncore_imc/x/" becomes "uncore_imc_0/x/", ... */
static const char *name_with_pmu(struct event_parse *p, const char *pmu)
{
	const char *slash = memchr(p->start, '/', (size_t)(p->pos - p->start));
	size_t n = strlen(pmu), m = slash ? (size_t)(p->pos - slash) : 0;
	char *name = arena_alloc(&p->list->memory, n + m + 1);

	if (name) {
		memcpy(name, pmu, n);
		if (m)
			memcpy(name + n, slash, m);
		name[n + m] = '\0';
	}
	return name;
}

/* "cycles:u" on one kind of cores: "cpu_core/cycles/u"; "cycles/period=9/" has terms to join. */
static const char *name_of_spread(struct event_parse *p, const char *pmu)
{
	const char *rest = p->spread.s + p->spread.n;
	struct buf b = {0};
	const char *name;

	buf_printf(&b, "%s/%.*s", pmu, (int)p->spread.n, p->spread.s);
	if (*rest == '/')
		buf_printf(&b, "%s%.*s", rest[1] == '/' ? "" : ",", (int)(p->pos - rest - 1),
			   rest + 1);
	else
		buf_printf(&b, "/%.*s", (int)(p->pos - rest) - (*rest == ':'),
			   rest + (*rest == ':'));
	name = b.is_failed ? NULL : event_copy(p, b.data, b.nr);
	buf_done(&b);
	return name;
}

/* Where the user wrote a pattern, or one name for several PMUs, each event says which it is. */
static bool is_pmu_name_open(const struct event_parse *p, size_t nr)
{
	size_t n = strcspn(p->start, "/,{}");

	return p->start[n] == '/' &&
	       (nr > 1 || memchr(p->start, '*', n) || memchr(p->start, '?', n));
}

/* Events that nothing else named are called what the user wrote. */
static enum clew_err name_events(struct event_parse *p)
{
	bool is_open = is_pmu_name_open(p, p->list->events.nr - p->first_here);

	for (size_t i = p->first_here; i < p->list->events.nr; i++) {
		struct rec_event *e = &p->list->events.data[i];

		if (!e->name && p->spread.n)
			e->name = name_of_spread(p, e->pmu);
		else if (!e->name && e->pmu && is_open)
			e->name = name_with_pmu(p, e->pmu);
		else if (!e->name)
			e->name = event_copy(p, p->start, (size_t)(p->pos - p->start));
		if (!e->name)
			return event_no_memory(p);
	}
	return CLEW_OK;
}

static enum clew_err parse_event(struct event_parse *p)
{
	enum clew_err err;

	skip_space(p);
	p->start = p->pos;
	p->first_here = p->list->events.nr;
	p->spread.n = 0;
	err = parse_kind(p);
	if (!err)
		err = parse_tail(p);
	if (!err && !is_event_end(*p->pos))
		err = event_fail(p, p->pos, CLEW_INVALID, "'%.*s' makes no sense after '%.*s'",
				 (int)strcspn(p->pos, ",}"), p->pos, (int)(p->pos - p->start),
				 p->start);
	if (!err)
		err = name_events(p);
	skip_space(p);
	return err;
}

static enum clew_err parse_group(struct event_parse *p, struct event_word name)
{
	size_t leader = p->list->events.nr;
	const char *copy = name.n ? event_copy(p, name.s, name.n) : NULL;
	enum clew_err err;

	p->is_in_group = true;
	do {
		p->pos++;
		err = parse_event(p);
		if (err)
			return err;
	} while (*p->pos == ',');
	p->is_in_group = false;
	if (*p->pos != '}')
		return event_fail(p, p->pos, CLEW_INVALID, "no '}' after the group");
	p->pos++;
	p->list->events.data[leader].group_name = copy;
	for (size_t i = leader; i < p->list->events.nr; i++)
		p->list->events.data[i].leader = (uint32_t)leader;
	if (*p->pos != ':')
		return CLEW_OK;
	p->pos++;
	return event_parse_modifiers(p, leader, p->list->events.nr, true);
}

/* "{" or "name{" */
static bool is_group_next(struct event_parse *p, struct event_word *name)
{
	size_t n = strcspn(p->pos, ":,{}/ ");

	*name = (struct event_word){p->pos, n};
	if (p->pos[n] != '{')
		return false;
	p->pos += n;
	return true;
}

static enum clew_err parse_list(struct event_parse *p)
{
	struct event_word name;
	enum clew_err err;

	for (;;) {
		skip_space(p);
		err = is_group_next(p, &name) ? parse_group(p, name) : parse_event(p);
		skip_space(p);
		if (err || !*p->pos)
			return err;
		if (*p->pos != ',')
			return event_fail(p, p->pos, CLEW_INVALID, "'%s' without a ',' before it",
					  p->pos);
		p->pos++;
	}
}

enum clew_err rec_events_parse(struct rec_event_list *list, const char *text,
			       struct rec_error *error)
{
	struct event_parse p = {
		.list = list, .error = error, .text = text, .pos = text, .first = list->events.nr};
	enum clew_err err;

	if (error)
		*error = (struct rec_error){0};
	if (strnlen(text, MAX_TEXT) >= MAX_TEXT)
		return event_fail(&p, text, CLEW_INVALID, "longer than 1 MiB");
	err = parse_list(&p);
	if (err) {
		list->events.nr = p.first;
	} else {
		list->last_argument = p.first;
		event_group_with_aux(list);
	}
	os_pmus_done(&p.pmus);
	return err;
}

static enum clew_err filter_tracepoint(struct event_parse *p, struct rec_event *e)
{
	enum clew_err err;

	if (!e->is_tracepoint)
		return event_fail(
			p, p->text, CLEW_INVALID,
			"--filter is for tracepoints and hardware trace, but '%s' is neither",
			e->name);
	err = event_check_filter(p, e, p->text);
	if (err != CLEW_OK)
		return err;
	e->filter = event_copy(p, p->text, strlen(p->text));
	return e->filter ? CLEW_OK : event_no_memory(p);
}

enum clew_err rec_events_filter(struct rec_event_list *list, const char *text,
				struct rec_error *error)
{
	struct event_parse p = {.list = list, .error = error, .text = text, .pos = text};
	enum clew_err err = CLEW_OK;

	if (list->last_argument >= list->events.nr)
		return event_fail(&p, text, CLEW_INVALID, "--filter has to follow an -e");
	for (size_t i = list->last_argument; i < list->events.nr && err == CLEW_OK; i++) {
		struct rec_event *e = &list->events.data[i];

		err = e->aux ? event_addr_filter(&p, e) : filter_tracepoint(&p, e);
	}
	os_pmus_done(&p.pmus);
	return err;
}

void rec_events_done(struct rec_event_list *list)
{
	vec_done(&list->events);
	arena_done(&list->memory);
	*list = (struct rec_event_list){0};
}
