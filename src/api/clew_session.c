/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "analyze/recorded_on.h"
#include "api/misuse.h"
#include "api/opts.h"
#include "api/session_impl.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/memory.h"

/* --- opening --- */

static void set_options(struct clew_session *s, const struct clew_session_opts *o)
{
	s->budget.limit = o->max_memory ? o->max_memory : os_memory_share();
	s->opts = (struct ana_opts){
		.symbols = {.symfs = o->symfs,
			    .vmlinux = o->vmlinux,
			    .kallsyms = o->kallsyms,
			    .buildid_dir = o->build_ids,
			    .no_demangle = o->no_demangle,
			    .force = o->trusts_other_users,
			    .budget = &s->budget},
		.is_mapped = s->map.data != NULL,
		.is_single_threaded = o->single_threaded,
		.wants_branches = o->wants_branches,
		.wants_addr = o->wants_addresses,
		.wants_outcomes = true,
	};
}

static long read_stream(void *ctx, void *buf, size_t size)
{
	const struct clew_session *s = ctx;

	return os_read(s->fd, buf, size);
}

static bool is_stream(const struct clew_session *s)
{
	return !s->input.data;
}

/** @p s->input or fd are set. @p path NULL: it is of no file that has a time. */
static enum clew_err open_input(struct clew_session *s, const char *path,
				const struct clew_session_opts *opts, struct clew_diag *diag)
{
	static const struct opts_type type = OPTS_TYPE(struct clew_session_opts);
	struct clew_session_opts o = {0};
	struct recorded_on r;
	enum clew_err err = opts_take(&o, &type, opts, diag);

	if (err != CLEW_OK)
		return err;
	set_options(s, &o);
	s->input.budget = &s->budget;
	r = recorded_on(&s->input);
	recorded_on_set_symbols(&r, &s->opts.symbols);
	if (path)
		recorded_on_set_end(path, &s->opts.symbols);
	s->dsos = dso_store_new(&s->opts.symbols);
	if (!s->dsos)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	s->opts.dsos = s->dsos;
	err = analyze_open(&s->analysis, &s->input, &s->opts, diag);
	if (err == CLEW_OK && !session_events_update(s))
		err = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return err;
}

/** @p err: of mapping the file. */
static enum clew_err open_mapped(struct clew_session *s, const char *path, enum clew_err err,
				 const struct clew_session_opts *opts, struct clew_diag *diag)
{
	if (err == CLEW_OK && !s->map.data)
		err = clew_fail(diag, CLEW_BAD_FILE, 0, "the file is empty");
	if (err != CLEW_OK)
		return err;
	s->input.data = s->map.data;
	s->input.size = s->map.size;
	s->input.is_mapped = true;
	return open_input(s, path, opts, diag);
}

static enum clew_err done_or_free(struct clew_session **ret, struct clew_session *s,
				  enum clew_err err)
{
	if (err == CLEW_OK)
		*ret = s;
	else
		clew_session_free(s);
	return err;
}

/** NULL: out of memory, or @p is_right is false. */
static struct clew_session *new_session(bool is_right, struct clew_diag *diag, enum clew_err *ret)
{
	struct clew_session *s = is_right ? mem_zalloc(sizeof(*s)) : NULL;

	if (!is_right)
		*ret = api_misuse(diag, "an argument is NULL");
	else if (!s)
		*ret = clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	return s;
}

enum clew_err clew_session_open(struct clew_session **ret, const char *path,
				const struct clew_session_opts *opts, struct clew_diag *diag)
{
	enum clew_err err;
	struct clew_session *s = new_session(ret && path, diag, &err);

	if (!s)
		return err;
	return done_or_free(ret, s,
			    open_mapped(s, path, os_map_file(path, &s->map, diag), opts, diag));
}

enum clew_err clew_session_open_fd(struct clew_session **ret, int fd,
				   const struct clew_session_opts *opts, struct clew_diag *diag)
{
	enum clew_err err;
	struct clew_session *s = new_session(ret, diag, &err);

	if (!s)
		return err;
	err = os_map_fd(fd, &s->map, diag);
	if (err != CLEW_UNSUPPORTED)
		return done_or_free(ret, s, open_mapped(s, NULL, err, opts, diag));
	s->fd = fd;
	s->input.read = read_stream;
	s->input.ctx = s;
	return done_or_free(ret, s, open_input(s, NULL, opts, diag));
}

enum clew_err clew_session_open_memory(struct clew_session **ret, const void *data, size_t size,
				       const struct clew_session_opts *opts, struct clew_diag *diag)
{
	enum clew_err err;
	struct clew_session *s = new_session(ret && (data || !size), diag, &err);

	if (!s)
		return err;
	s->input.data = data ? data : (const uint8_t *)"";
	s->input.size = size;
	return done_or_free(ret, s, open_input(s, NULL, opts, diag));
}

enum clew_err clew_session_rewind(struct clew_session *s, struct clew_diag *diag)
{
	struct analyze *next;
	enum clew_err err;

	if (!s || s->is_running)
		return api_misuse(diag, s ? "another pass has begun" : "an argument is NULL");
	if (s->pass == SESSION_NEW)
		return CLEW_OK;
	if (is_stream(s))
		return clew_fail(diag, CLEW_UNSUPPORTED, 0, "a stream can be read once");
	err = analyze_open(&next, &s->input, &s->opts, diag);
	if (err != CLEW_OK)
		return err;
	analyze_free(s->analysis);
	s->analysis = next;
	session_threads_done(&s->threads);
	session_samples_done(&s->samples);
	s->pass = SESSION_NEW;
	s->end = (struct clew_diag){0};
	return CLEW_OK;
}

void clew_session_free(struct clew_session *s)
{
	if (!s)
		return;
	session_samples_done(&s->samples);
	session_threads_done(&s->threads);
	tracepoints_free(s->tracepoints);
	analyze_free(s->analysis);
	dso_store_free(s->dsos);
	vec_done(&s->events.all);
	intern_done(&s->events.texts);
	arena_done(&s->events.memory);
	os_map_done(&s->map);
	mem_free(s);
}

/* --- samples handed out --- */

static enum clew_err hand_out(struct clew_session *s, const struct ana_event *e)
{
	struct clew_sample sample;
	enum clew_err err = session_threads_note(&s->threads, e) ? CLEW_OK : CLEW_NO_MEMORY;

	if (err == CLEW_OK)
		err = session_sample_of(s, e, false, &sample);
	if (err != CLEW_OK)
		return err;
	s->taken = s->take(s->ctx, &sample);
	return api_taken(s->taken);
}

static enum clew_err push_batch(void *ctx, const struct ana_batch *b)
{
	struct clew_session *s = ctx;
	enum clew_err err = session_samples_begin(&s->samples, b->epoch) ? CLEW_OK : CLEW_NO_MEMORY;

	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++)
		err = hand_out(s, &b->events[i]);
	session_samples_drop(&s->samples);
	return err;
}

/** The pass is over with @p err, @p why more of it; or the recording ended early. */
static enum clew_err end_pass(struct clew_session *s, enum clew_err err,
			      const struct clew_diag *why, struct clew_diag *diag)
{
	const struct clew_diag *end = &analyze_summary(s->analysis)->end;

	if (s->taken != CLEW_OK)
		api_fail_taken(&s->end, s->taken);
	else if (err == CLEW_OK)
		s->end = *end;
	else if (why->code == err)
		s->end = *why;
	else
		clew_fail(&s->end, err, 0, clew_err_name(err));
	if (s->end.code != CLEW_OK && diag)
		*diag = s->end;
	return s->end.code;
}

enum clew_err clew_session_each(struct clew_session *s,
				enum clew_err (*take)(void *ctx, const struct clew_sample *sample),
				void *ctx, struct clew_diag *diag)
{
	struct clew_diag why = {0};
	enum clew_err err =
		take ? clew_session_rewind(s, diag) : api_misuse(diag, "an argument is NULL");

	if (err != CLEW_OK)
		return err;
	s->take = take;
	s->ctx = ctx;
	s->taken = CLEW_OK;
	s->pass = SESSION_OTHER;
	s->is_running = true;
	err = analyze_run(s->analysis, &(struct ana_consumer){push_batch, s}, &why);
	s->is_running = false;
	return end_pass(s, err, &why, diag);
}

/* --- samples asked for --- */

static enum clew_err keep_batch(void *ctx, const struct ana_batch *b)
{
	struct clew_session *s = ctx;
	enum clew_err err = session_samples_begin(&s->samples, b->epoch) ? CLEW_OK : CLEW_NO_MEMORY;
	struct clew_sample sample;

	for (size_t i = 0; i < b->nr && err == CLEW_OK; i++) {
		if (!session_threads_note(&s->threads, &b->events[i]))
			return CLEW_NO_MEMORY;
		err = session_sample_of(s, &b->events[i], true, &sample);
		if (err == CLEW_OK && !vec_push(&s->samples.waiting, sample))
			err = CLEW_NO_MEMORY;
	}
	return err;
}

static void begin_pulling(struct clew_session *s)
{
	struct clew_diag why = {0};
	enum clew_err err;

	s->pass = SESSION_PULLING;
	s->taken = CLEW_OK;
	err = analyze_begin(s->analysis, &(struct ana_consumer){keep_batch, s}, &why);
	if (err == CLEW_OK)
		return;
	s->pass = SESSION_OVER;
	end_pass(s, err, &why, NULL);
}

/** Read on until samples wait, or there are no more. */
static void read_on(struct clew_session *s)
{
	struct clew_diag why = {0};
	enum clew_err err = CLEW_OK;

	session_samples_drop(&s->samples);
	while (err == CLEW_OK && !s->samples.waiting.nr)
		err = analyze_step(s->analysis, &why);
	if (err == CLEW_OK)
		return;
	s->pass = SESSION_OVER;
	end_pass(s, err == CLEW_END ? CLEW_OK : err, &why, NULL);
}

enum clew_err clew_session_next(struct clew_session *s, const struct clew_sample **ret,
				struct clew_diag *diag)
{
	struct session_samples *m;

	if (!s || !ret)
		return api_misuse(diag, "an argument is NULL");
	if (s->pass == SESSION_OTHER)
		return api_misuse(diag, "another pass has begun");
	if (s->pass == SESSION_NEW)
		begin_pulling(s);
	m = &s->samples;
	if (m->next == m->waiting.nr && s->pass == SESSION_PULLING)
		read_on(s);
	if (m->next < m->waiting.nr) {
		*ret = &m->waiting.data[m->next++];
		return CLEW_OK;
	}
	if (s->end.code == CLEW_OK)
		return clew_fail(diag, CLEW_END, 0, "there are no more samples");
	if (diag)
		*diag = s->end;
	return s->end.code;
}

enum clew_err clew_session_read_events(struct clew_session *s, struct clew_diag *diag)
{
	enum clew_err err = CLEW_OK;
	struct perf_record r;
	struct perf_file *f;

	if (!s)
		return api_misuse(diag, "an argument is NULL");
	f = analyze_file(s->analysis);
	if (!perf_file_is_pipe(f) || s->pass != SESSION_NEW)
		return CLEW_OK;
	s->pass = SESSION_OTHER;
	while (err == CLEW_OK)
		err = perf_file_next(f, &r, diag);
	return err == CLEW_END ? CLEW_OK : err;
}
