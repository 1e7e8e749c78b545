/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "os/perf/tracefs.h"
#include "record/event/event_spell.h"

struct lookup {
	struct event_parse *p;
	const char *root;
	const char *system, *name; /* patterns, NUL-terminated */
	struct event_word text;    /* both, as written */
	struct arena memory;       /* names looked through */
};

static bool is_glob(const char *s)
{
	return strpbrk(s, "*?[");
}

/* Nothing can be looked up: say how to change that. */
static enum clew_err no_tracefs(struct lookup *l, enum os_tracefs_state state)
{
	const char *at = l->text.s;

	switch (state) {
	case OS_TRACEFS_NO_ACCESS:
		return event_fail(
			l->p, at, CLEW_OS,
			"tracepoints are described in %s, which this user may not read: sudo "
			"mount -o remount,mode=750,gid=$(id -g) %s",
			l->root, l->root);
	case OS_TRACEFS_NOT_MOUNTED:
		return event_fail(l->p, at, CLEW_OS,
				  "tracepoints are described in tracefs, which is not mounted; as "
				  "root: mount -t tracefs nodev %s",
				  l->root);
	case OS_TRACEFS_NOT_BUILT:
	case OS_TRACEFS_READABLE:
		break;
	}
	return event_fail(
		l->p, at, CLEW_OS,
		"no tracepoint '%.*s': this kernel is built without tracefs, or it is out "
		"of reach of this container",
		(int)l->text.n, l->text.s);
}

static enum clew_err find_root(struct lookup *l)
{
	enum os_tracefs_state state;

	l->root = l->p->list->tracefs;
	if (l->root)
		return CLEW_OK;
	state = os_tracefs_find(&l->root);
	/* Root does not need to see the command: nothing else speaks against mounting it. */
	if (state == OS_TRACEFS_NOT_MOUNTED && os_tracefs_mount(NULL) == CLEW_OK)
		state = os_tracefs_find(&l->root);
	return state == OS_TRACEFS_READABLE ? CLEW_OK : no_tracefs(l, state);
}

static enum clew_err add(struct lookup *l, const char *system, const char *name, uint32_t id)
{
	size_t n = strlen(system), m = strlen(name);
	struct rec_event *e = event_add(l->p, PERF_TYPE_TRACEPOINT, id);
	char *full = arena_alloc(&l->p->list->memory, n + m + 2);

	if (!e || !full)
		return event_no_memory(l->p);
	memcpy(full, system, n);
	full[n] = ':';
	memcpy(full + n + 1, name, m + 1);
	e->name = full;
	e->is_tracepoint = true;
	e->tp_id = id;
	e->tp_system = event_copy(l->p, system, n);
	e->tp_name = full + n + 1;
	e->attr.sample_period = 1;
	e->attr.sample_type =
		PERF_SAMPLE_RAW | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
	return e->tp_system ? CLEW_OK : event_no_memory(l->p);
}

static void guess_names(struct lookup *l, const char *system, struct event_guess *g)
{
	struct os_names names = {0};

	os_tracefs_names(l->root, system, &l->memory, &names, NULL);
	for (size_t i = 0; i < names.nr; i++)
		event_guess_try(g, names.data[i]);
	vec_done(&names);
}

static bool has_system(struct lookup *l)
{
	struct os_names names = {0};
	bool has = !os_tracefs_names(l->root, l->system, &l->memory, &names, NULL);

	vec_done(&names);
	return has;
}

/* The system may be wrong, or the name. */
static enum clew_err unknown(struct lookup *l)
{
	struct event_guess g;
	char text[160];

	event_guess_start(&g, (struct event_word){l->system, strlen(l->system)});
	if (!is_glob(l->system)) {
		guess_names(l, NULL, &g);
		if (!has_system(l))
			return event_fail(l->p, l->text.s, CLEW_NOT_FOUND,
					  "no tracepoint '%.*s': no system '%s'%s", (int)l->text.n,
					  l->text.s, l->system,
					  *event_guess_text(&g, text, sizeof(text))
						  ? text
						  : "; `clew list` shows all");
	}
	event_guess_start(&g, (struct event_word){l->name, strlen(l->name)});
	if (!is_glob(l->system) && !is_glob(l->name))
		guess_names(l, l->system, &g);
	return event_fail(
		l->p, l->text.s, CLEW_NOT_FOUND, "no tracepoint %s'%.*s'%s",
		is_glob(l->name) || is_glob(l->system) ? "matches " : "", (int)l->text.n, l->text.s,
		*event_guess_text(&g, text, sizeof(text)) ? text : "; `clew list` shows all");
}

static enum clew_err add_exact(struct lookup *l)
{
	struct clew_diag diag = {0};
	uint32_t id;
	enum clew_err err = os_tracefs_event_id(l->root, l->system, l->name, &id, &diag);

	if (!err)
		return add(l, l->system, l->name, id);
	if (err == CLEW_NOT_FOUND)
		return unknown(l);
	if (err == CLEW_OS && (diag.os_errno == EACCES || diag.os_errno == EPERM))
		return event_fail(l->p, l->text.s, CLEW_OS,
				  "tracepoint '%.*s' may not be read by this user: sudo mount -o "
				  "remount,mode=750,gid=$(id -g) %s",
				  (int)l->text.n, l->text.s, l->root);
	return event_fail(l->p, l->text.s, err, "tracepoint '%.*s' cannot be read", (int)l->text.n,
			  l->text.s);
}

/* Events without an id are ftrace's own: perf_event_open() does not know them. */
static enum clew_err add_matching(struct lookup *l, const char *system)
{
	struct os_names names = {0};
	enum clew_err err = os_tracefs_names(l->root, system, &l->memory, &names, NULL);

	if (err != CLEW_NO_MEMORY)
		err = CLEW_OK;
	for (size_t i = 0; !err && i < names.nr; i++) {
		uint32_t id;

		if (!fnmatch(l->name, names.data[i], 0) &&
		    !os_tracefs_event_id(l->root, system, names.data[i], &id, NULL))
			err = add(l, system, names.data[i], id);
	}
	vec_done(&names);
	return err;
}

static enum clew_err add_globbed(struct lookup *l)
{
	size_t before = l->p->list->events.nr;
	struct os_names systems = {0};
	enum clew_err err = os_tracefs_names(l->root, NULL, &l->memory, &systems, NULL);

	for (size_t i = 0; !err && i < systems.nr; i++) {
		if (!fnmatch(l->system, systems.data[i], 0))
			err = add_matching(l, systems.data[i]);
	}
	vec_done(&systems);
	if (err == CLEW_OS)
		return event_fail(l->p, l->text.s, err, "%s/events cannot be read", l->root);
	if (!err && l->p->list->events.nr == before)
		err = unknown(l);
	return err == CLEW_NO_MEMORY ? event_no_memory(l->p) : err;
}

enum clew_err event_parse_tracepoint(struct event_parse *p, struct event_word system,
				     struct event_word name)
{
	struct lookup l = {
		.p = p, .text = {system.s, (size_t)(name.s + name.n - system.s)}
        };
	enum clew_err err;

	if (!name.n)
		return event_fail(p, name.s, CLEW_INVALID, "a tracepoint is spelled system:name");
	l.system = arena_strndup(&l.memory, system.s, system.n);
	l.name = arena_strndup(&l.memory, name.s, name.n);
	err = l.system && l.name ? find_root(&l) : event_no_memory(p);
	if (!err)
		err = is_glob(l.system) || is_glob(l.name) ? add_globbed(&l) : add_exact(&l);
	arena_done(&l.memory);
	return err;
}
