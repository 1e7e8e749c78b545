/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_UNIT_REPORT_EVENTS_H
#define TESTS_UNIT_REPORT_EVENTS_H

#include "rows/report_feed.h"
#include "unit/tap.h"

/*
 * A recording for the feed without a file: frames are letters. Lower case is function fn_X of
 * /bin/prog, upper case the same letter's kernel function, '?' an address without a symbol, '!' one
 * outside all mappings.
 */
struct made_event {
	const char *comm;
	uint32_t pid, tid, cpu;
	uint64_t period;
	const char
		*path; /* outermost first; the last is sampled; NULL: neither chain nor address */
	uint32_t event;
};

enum { NR_LOCS = 128, MAX_MADE = 64, NR_MADE_EVSELS = 3 };

struct made {
	struct dso_store *store;
	struct dso *user, *kernel;
	struct dso_sym syms[NR_LOCS];
	char names[NR_LOCS][8];
	struct ana_loc locs[NR_LOCS];
	struct perf_evsel evsels[NR_MADE_EVSELS];
	struct perf_sample samples[MAX_MADE];
	struct ana_event events[MAX_MADE];
	struct ana_chain *chains[MAX_MADE];
	size_t nr;
};

static inline void made_loc(struct made *m, int letter, uint32_t id)
{
	bool is_kernel = letter >= 'A' && letter <= 'Z', is_known = letter != '!' && letter != '?';
	struct ana_loc *loc = &m->locs[letter];

	snprintf(m->names[letter], sizeof(m->names[letter]), "fn_%c", letter);
	m->syms[letter] = (struct dso_sym){(uint64_t)letter * 16, (uint64_t)letter * 16 + 16,
					   m->names[letter], m->names[letter]};
	*loc = (struct ana_loc){.ip = 0x400000 + (uint64_t)letter * 16 + 4,
				.rel = (uint64_t)letter * 16 + 4,
				.dso = letter == '!' ? NULL
				     : is_kernel     ? m->kernel
						     : m->user,
				.sym = is_known ? &m->syms[letter] : NULL,
				.id = id,
				.level = is_kernel ? ANA_KERNEL : ANA_USER};
}

/* Ids start from @p first_id: each epoch numbers again. */
static inline void made_init(struct made *m, const struct made_event *events, size_t nr,
			     uint32_t first_id)
{
	static const char *const names[NR_MADE_EVSELS] = {"cycles", "faults", "idle"};
	static const struct dso_store_opts opts = {.no_host_kernel = true};

	memset(m, 0, sizeof(*m));
	m->store = dso_store_new(&opts);
	m->user = dso_store_get(m->store, &(struct dso_key){.kind = DSO_USER, .path = "/bin/prog"});
	m->kernel = dso_store_get(m->store, &(struct dso_key){.kind = DSO_KERNEL,
							      .path = "[kernel.kallsyms]"});
	for (int i = ' '; i < NR_LOCS; i++)
		made_loc(m, i, first_id + (uint32_t)i);
	for (uint32_t i = 0; i < NR_MADE_EVSELS; i++) {
		m->evsels[i] = (struct perf_evsel){.index = i, .name = names[i], .leader = i};
		m->evsels[i].attr.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_IP;
	}
	for (m->nr = 0; m->nr < nr; m->nr++) {
		const struct made_event *e = &events[m->nr];
		size_t len = e->path ? strlen(e->path) : 0;
		struct ana_chain *c = mem_zalloc(sizeof(*c) + len * sizeof(c->locs[0]));

		c->id = first_id + (uint32_t)m->nr;
		c->nr = (uint32_t)len;
		for (size_t i = 0; i < len; i++)
			c->locs[i] = &m->locs[(uint8_t)e->path[len - 1 - i]];
		m->chains[m->nr] = c;
		m->events[m->nr] = (struct ana_event){.evsel = &m->evsels[e->event],
						      .sample = &m->samples[m->nr],
						      .time = clew_perf_ns_none(),
						      .period = e->period,
						      .pid = e->pid,
						      .tid = e->tid,
						      .cpu = e->cpu,
						      .comm = e->comm,
						      .loc = len ? c->locs[0] : NULL,
						      .chain = len ? c : NULL};
		m->samples[m->nr].time = UINT64_MAX;
	}
}

static inline void made_done(struct made *m)
{
	for (size_t i = 0; i < m->nr; i++)
		mem_free(m->chains[i]);
	dso_store_free(m->store);
}

/* All events in batches of @p step. */
static inline enum clew_err made_feed(struct made *m, struct report_feed *f, size_t step,
				      uint64_t epoch)
{
	enum clew_err err = CLEW_OK;

	for (size_t i = 0; i < m->nr && err == CLEW_OK; i += step) {
		struct ana_batch b = {m->events + i, m->nr - i < step ? m->nr - i : step, epoch};

		err = report_feed_batch(f, &b);
	}
	return err;
}

static inline enum clew_err made_write(void *ctx, const void *data, size_t size)
{
	buf_add(ctx, data, size);
	return CLEW_OK;
}

static inline struct report_feed *made_report(struct made *m, const char *sort,
					      struct report_feed_opts opts)
{
	struct report_feed *f = NULL;
	const char *bad;
	size_t len;

	report_sort_parse(&opts.sort, sort, &bad, &len);
	if (report_feed_new(&f, &opts, NULL) != CLEW_OK)
		return NULL;
	made_feed(m, f, 3, 7);
	report_feed_finish(f);
	return f;
}

#endif
