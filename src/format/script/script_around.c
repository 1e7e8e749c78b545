/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_around.h"

#include <string.h>

#include "base/map_u64.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"
#include "format/script/script_place.h"
#include "who/who_ran.h"

enum {
	BATCH_EVENTS = 64,
	MAX_THREADS = 1024, /* that have calls in memory */
	MIN_WINDOW = 64,    /* events; one that grows beyond four times its size goes in pieces */
};

/** An event, with all that it points to and that does not outlive its batch. */
struct kept {
	struct ana_event event;
	struct perf_sample sample;
	struct ana_synth synth;
	struct who_answer who;
};

struct thread {
	struct kept *before; /* a ring of opts.nr of them; NULL: none yet */
	size_t next, nr;
	struct {
		VEC(struct kept);
	} window;
	uint32_t left; /* calls that the window waits for; */
	bool is_open;
	uint32_t number; /* of the window */
};

struct script_around {
	struct script_around_opts opts;
	struct map_u64 by_thread; /* -> threads */
	struct {
		VEC(struct thread);
	} threads;
	uint64_t epoch;
	uint32_t nr_windows, shown; /* shown: the last one that was handed on */
};

bool script_around_parse(const char *text, char *names, size_t size, uint32_t *ret_nr)
{
	const char *colon = strrchr(text, ':'), *digits = colon ? colon + 1 : "";
	bool has_nr = *digits && !digits[strspn(digits, "0123456789")];
	size_t len = has_nr ? (size_t)(colon - text) : strlen(text);
	uint64_t nr = SCRIPT_AROUND_DEFAULT;

	if (!len || len >= size ||
	    (has_nr && !number_take(&digits, digits + strlen(digits), 10, &nr)) ||
	    nr > SCRIPT_AROUND_MAX)
		return false;
	memcpy(names, text, len);
	names[len] = '\0';
	*ret_nr = (uint32_t)nr;
	return true;
}

struct script_around *script_around_new(const struct script_around_opts *opts)
{
	struct script_around *a = mem_zalloc(sizeof(*a));

	if (a)
		a->opts = *opts;
	return a;
}

static void forget(struct thread *t)
{
	mem_free(t->before);
	vec_done(&t->window);
	*t = (struct thread){0};
}

void script_around_free(struct script_around *a)
{
	if (!a)
		return;
	vec_for_each (&a->threads, t)
		forget(t);
	vec_done(&a->threads);
	map_u64_done(&a->by_thread);
	mem_free(a);
}

/* --- a window --- */

static void keep(struct kept *k, const struct ana_event *ev)
{
	k->event = *ev;
	k->synth = *ev->synth;
	if (ev->sample)
		k->sample = *ev->sample;
	if (ev->who)
		k->who = *ev->who;
}

/** As it came, and of window @p number. */
static struct ana_event event_of(struct kept *k, uint32_t number)
{
	struct ana_event ev = k->event;

	k->synth.window = number;
	ev.synth = &k->synth;
	ev.sample = ev.sample ? &k->sample : NULL;
	ev.who = ev.who ? &k->who : NULL;
	ev.chain = NULL;
	ev.branches = NULL;
	return ev;
}

/** Hand on what there is of it. */
static enum clew_err show(struct script_around *a, struct thread *t)
{
	const struct ana_consumer *c = &a->opts.consumer;
	enum clew_err err = CLEW_OK;

	if (a->shown && a->shown != t->number && a->opts.separate)
		a->opts.separate(c->ctx);
	a->shown = t->number;
	for (size_t at = 0, nr; !err && at < t->window.nr; at += nr) {
		struct ana_event events[BATCH_EVENTS];
		struct ana_batch b = {.events = events, .epoch = a->epoch};

		for (nr = 0; nr < BATCH_EVENTS && at + nr < t->window.nr; nr++)
			events[nr] = event_of(&t->window.data[at + nr], t->number);
		b.nr = nr;
		err = c->batch(c->ctx, &b);
	}
	t->window.nr = 0;
	return err;
}

static enum clew_err end_window(struct script_around *a, struct thread *t)
{
	enum clew_err err = show(a, t);

	vec_done(&t->window);
	t->is_open = false;
	return err;
}

static bool begin_window(struct script_around *a, struct thread *t)
{
	uint32_t max = a->opts.nr;

	for (; t->nr; t->nr--) {
		if (!vec_push(&t->window, t->before[(t->next + max - t->nr) % max]))
			return false;
	}
	t->is_open = true;
	t->number = ++a->nr_windows;
	return true;
}

static enum clew_err add_to_window(struct script_around *a, struct thread *t,
				   const struct ana_event *ev)
{
	size_t max = 4 * (size_t)a->opts.nr + MIN_WINDOW;

	if (!vec_reserve(&t->window, t->window.nr + 1))
		return CLEW_NO_MEMORY;
	keep(&t->window.data[t->window.nr++], ev);
	return t->window.nr < max ? CLEW_OK : show(a, t);
}

/** The oldest goes, where there is no more room. */
static bool add_before(const struct script_around *a, struct thread *t, const struct ana_event *ev)
{
	uint32_t max = a->opts.nr;

	if (!max)
		return true;
	if (!t->before)
		t->before = mem_calloc(max, sizeof(*t->before));
	if (!t->before)
		return false;
	keep(&t->before[t->next], ev);
	t->next = (t->next + 1) % max;
	t->nr += t->nr < max;
	return true;
}

/* --- threads --- */

static uint64_t thread_key(const struct ana_event *ev)
{
	return ev->tid == UINT32_MAX ? 1ull << 32 | ev->cpu : ev->tid;
}

/** Threads of a damaged trace, or very many: all begin again. */
static enum clew_err make_room(struct script_around *a)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&a->threads, t) {
		if (t->is_open && !err)
			err = end_window(a, t);
		forget(t);
	}
	a->threads.nr = 0;
	map_u64_done(&a->by_thread);
	return err;
}

static enum clew_err thread_of(struct script_around *a, const struct ana_event *ev,
			       struct thread **ret)
{
	uint64_t key = thread_key(ev);
	const uint64_t *at = map_u64_get(&a->by_thread, key);
	enum clew_err err = CLEW_OK;

	if (!at && a->threads.nr == MAX_THREADS)
		err = make_room(a);
	if (err)
		return err;
	if (!at && (!vec_push(&a->threads, (struct thread){0}) ||
		    !map_u64_put(&a->by_thread, key, a->threads.nr - 1)))
		return CLEW_NO_MEMORY;
	*ret = &a->threads.data[at ? *at : a->threads.nr - 1];
	return CLEW_OK;
}

/* --- events --- */

static bool is_call(const struct ana_event *ev)
{
	return ev->sample && !ev->op && !ev->synth->note && ev->synth->flow & ANA_FLOW_CALL;
}

static bool is_wanted(const struct script_around *a, const struct ana_event *ev)
{
	const struct ana_loc *to = ev->addr;

	return to && to->sym && dso_sym_is_in_list(to->sym, a->opts.symbols);
}

static enum clew_err take_call(struct script_around *a, const struct ana_event *ev)
{
	bool wanted = is_wanted(a, ev);
	enum clew_err err;
	struct thread *t;

	err = thread_of(a, ev, &t);
	if (err)
		return err;
	if (!wanted && !t->is_open)
		return add_before(a, t, ev) ? CLEW_OK : CLEW_NO_MEMORY;
	if (!t->is_open && !begin_window(a, t))
		return CLEW_NO_MEMORY;
	t->left = wanted ? a->opts.nr : t->left - 1;
	err = add_to_window(a, t, ev);
	return err || t->left ? err : end_window(a, t);
}

/** Of a thread's window that is open. */
static enum clew_err take_error(struct script_around *a, const struct ana_event *ev)
{
	uint64_t *at = map_u64_get(&a->by_thread, thread_key(ev));
	struct thread *t = at ? &a->threads.data[*at] : NULL;

	return t && t->is_open ? add_to_window(a, t, ev) : CLEW_OK;
}

enum clew_err script_around_batch(void *around, const struct ana_batch *b)
{
	struct script_around *a = around;
	enum clew_err err = CLEW_OK;

	a->epoch = b->epoch;
	for (size_t i = 0; !err && i < b->nr; i++) {
		const struct ana_event *ev = &b->events[i];

		if (ev->synth && is_call(ev))
			err = take_call(a, ev);
		else if (ev->synth && ev->synth->error)
			err = take_error(a, ev);
	}
	return err;
}

enum clew_err script_around_finish(struct script_around *a)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&a->threads, t) {
		if (!err && t->is_open)
			err = end_window(a, t);
	}
	return err;
}
