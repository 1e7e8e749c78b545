/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_merge.h"

#include "analyze/ana_read.h"
#include "base/err.h"
#include "merge/merge_record.h"
#include "perfdata/perf_features_write.h"

enum {
	BATCH_BYTES = 256 * 1024,
	INDEX_ENTRY = 32, /* of ID_INDEX, and its second part */
	INDEX_ENTRY_2 = 16,
	INDEX_MAX = 1024, /* entries of one record */
	NO_CPU = UINT32_MAX,
	MAX_IDS = 1 << 20, /* of a guest */
};

/* A guest's recording while it is read: its next record waits for its time. */
struct source {
	const struct guest_merge_in *in;
	struct perf_file *file;
	struct ana_reader reader;
	bool has_reader, is_over;
	struct perf_record next;
	bool has_next;
	uint64_t next_time; /* on the host's clock; 0: before all */
	uint64_t last_time;
	uint32_t first_evsel; /* of its events in the output */
	bool keeps_tracepoints;
	struct map_u64 threads; /* of its vcpus: vcpu -> tid on the host */
	int64_t band_ns;        /* how far next_time may be from the truth */
};

struct merge {
	struct guest_merge_counts *counts;
	const struct merge_scan *scan;
	struct perf_file *host;
	struct ana_reader reader;
	bool has_reader;
	struct perf_evlist evlist; /* of the output */
	struct map_u64 ids;        /* evsel << 32 | vcpu -> id */
	uint64_t next_id;
	struct {
		VEC(struct source);
	} sources;
	struct map_u64 cpus; /* tid of a vcpu's thread -> the host's CPU */
	struct perf_writer *writer;
	struct buf out;
	uint64_t round_bytes;
};

/* --- events --- */

static uint64_t new_id(struct merge *m)
{
	while (perf_evlist_by_id(&m->evlist, m->next_id))
		m->next_id++;
	return m->next_id++;
}

/* Small numbers, as the kernel's, and after all of the host's that are small. */
static void choose_ids(struct merge *m)
{
	vec_for_each (&perf_file_evlist(m->host)->evsels, e) {
		for (uint32_t i = 0; i < (*e)->nr_ids; i++) {
			if ((*e)->ids[i] >= m->next_id && (*e)->ids[i] < UINT32_MAX)
				m->next_id = (*e)->ids[i] + 1;
		}
	}
}

static enum clew_err add_host_events(struct merge *m)
{
	struct perf_evlist *l = perf_file_evlist(m->host);

	choose_ids(m);
	vec_for_each (&l->evsels, e) {
		struct perf_attr attr = (*e)->attr;
		struct perf_evsel *n;
		uint64_t id = new_id(m);
		const uint64_t *ids = (*e)->nr_ids ? (*e)->ids : &id;

		attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
		n = perf_evlist_add(&m->evlist, &attr, (*e)->name, (const uint8_t *)ids,
				    (*e)->nr_ids ? (*e)->nr_ids : 1, false);
		if (!n)
			return CLEW_NO_MEMORY;
		n->leader = (*e)->leader;
		n->nr_group = (*e)->nr_group;
		n->group_name = (*e)->group_name;
	}
	return CLEW_OK;
}

/* One id for each virtual CPU: by it, readers know which one it was. */
static enum clew_err add_event(struct merge *m, const struct source *s, const struct perf_evsel *e)
{
	const struct fit_guest *g = &s->in->scan->guest;
	struct perf_attr attr = e->attr;
	uint64_t evsel = m->evlist.evsels.nr;
	struct {
		VEC(uint64_t);
	} ids = {0};
	bool ok = true;

	attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
	/* Its number is the guest kernel's: the host's formats would be taken for it. */
	if (attr.type == PERF_TYPE_TRACEPOINT && !s->keeps_tracepoints) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_DUMMY;
	}
	vec_for_each (&g->lanes, l) {
		uint64_t id = new_id(m);

		ok = ok && vec_push(&ids, id) && map_u64_put(&m->ids, evsel << 32 | l->vcpu, id);
	}
	ok = ok && perf_evlist_add(&m->evlist, &attr, e->name, (const uint8_t *)ids.data,
				   (uint32_t)ids.nr, false);
	vec_done(&ids);
	return ok ? CLEW_OK : CLEW_NO_MEMORY;
}

static bool same_section(const struct perf_features *a, const struct perf_features *b,
			 enum perf_feature feature)
{
	struct bytes x = a->section[feature], y = b->section[feature];

	return x.pos && y.pos && bytes_left(&x) == bytes_left(&y) &&
	       !memcmp(x.pos, y.pos, bytes_left(&x));
}

static enum clew_err find_threads(const struct merge *m, struct source *s)
{
	vec_for_each (&m->scan->vmms, v) {
		if (v->pid != s->in->match->pid)
			continue;
		vec_for_each (&v->host.lanes, l) {
			if (!map_u64_get(&s->threads, l->vcpu) &&
			    !map_u64_put(&s->threads, l->vcpu, l->tid))
				return CLEW_NO_MEMORY;
		}
	}
	return CLEW_OK;
}

static enum clew_err add_guest_events(struct merge *m, struct source *s)
{
	struct perf_evlist *l = perf_file_evlist(s->file);
	enum clew_err err = find_threads(m, s);

	if (l->evsels.nr * s->in->scan->guest.lanes.nr > MAX_IDS)
		return CLEW_LIMIT;

	s->band_ns = (int64_t)guest_match_band_ns(s->in->match);
	s->first_evsel = (uint32_t)m->evlist.evsels.nr;
	s->keeps_tracepoints = same_section(perf_file_features(m->host),
					    perf_file_features(s->file), PERF_FEAT_TRACING_DATA);
	for (size_t i = 0; i < l->evsels.nr && !err; i++)
		err = add_event(m, s, l->evsels.data[i]);
	return err;
}

/* --- the head of the output --- */

static bool is_copied(unsigned int feature)
{
	return feature != PERF_FEAT_AUXTRACE && feature != PERF_FEAT_COMPRESSED &&
	       feature != PERF_FEAT_CLEW_STACKS && feature != PERF_FEAT_DIR_FORMAT &&
	       feature != PERF_FEAT_BUILD_ID && feature != PERF_FEAT_EVENT_DESC &&
	       feature != PERF_FEAT_CLEW_GUESTS;
}

static enum clew_err put_feature(struct merge *m, enum perf_feature feature, struct buf *b)
{
	enum clew_err err = b->is_failed ? CLEW_NO_MEMORY : CLEW_OK;

	if (!err && b->nr)
		err = perf_writer_feature(m->writer, feature, b->data, b->nr);
	buf_done(b);
	return err;
}

static void put_build_ids(struct merge *m, struct buf *b)
{
	struct bytes of_host = perf_file_features(m->host)->section[PERF_FEAT_BUILD_ID];

	buf_add(b, of_host.pos, bytes_left(&of_host));
	vec_for_each (&m->sources, s)
		guest_merge_put_build_ids(b,
					  perf_file_features(s->file)->section[PERF_FEAT_BUILD_ID],
					  s->in->match->pid);
}

static enum clew_err put_features(struct merge *m, const struct guest_merge_in *guests, size_t nr)
{
	const struct perf_features *f = perf_file_features(m->host);
	struct buf desc = {0}, build_ids = {0}, info = {0};
	enum clew_err err = CLEW_OK;

	for (unsigned int i = 1; i < PERF_FEAT_BITS && !err; i++) {
		struct bytes section = f->section[i];

		if (section.pos && is_copied(i))
			err = perf_writer_feature(m->writer, (enum perf_feature)i, section.pos,
						  bytes_left(&section));
	}
	m->counts->drops_stack_infos = f->section[PERF_FEAT_CLEW_STACKS].pos;
	perf_put_event_desc(&desc, &m->evlist);
	put_build_ids(m, &build_ids);
	if (!err && !guest_merge_put_info(&info, guests, nr))
		err = CLEW_NO_MEMORY;
	err = err ? err : put_feature(m, PERF_FEAT_EVENT_DESC, &desc);
	err = err ? err : put_feature(m, PERF_FEAT_BUILD_ID, &build_ids);
	err = err ? err : put_feature(m, PERF_FEAT_CLEW_GUESTS, &info);
	buf_done(&desc);
	buf_done(&build_ids);
	buf_done(&info);
	return err;
}

/* --- ID_INDEX --- */

struct index {
	struct buf one, two;
	uint64_t nr;
};

static enum clew_err flush_index(struct merge *m, struct index *x)
{
	size_t size = sizeof(struct perf_event_header) + 8 + x->one.nr + x->two.nr;
	struct perf_event_header h = {.type = PERF_RECORD_ID_INDEX, .size = (uint16_t)size};

	if (!x->nr)
		return CLEW_OK;
	buf_add(&m->out, &h, sizeof(h));
	buf_u64(&m->out, x->nr);
	buf_add(&m->out, x->one.data, x->one.nr);
	buf_add(&m->out, x->two.data, x->two.nr);
	x->nr = 0;
	buf_clear(&x->one);
	buf_clear(&x->two);
	return m->out.is_failed || x->one.is_failed || x->two.is_failed ? CLEW_NO_MEMORY : CLEW_OK;
}

static const uint64_t *thread_of(const struct source *s, uint32_t vcpu)
{
	return map_u64_get(&s->threads, vcpu);
}

static enum clew_err index_event(struct merge *m, const struct source *s, uint64_t evsel,
				 struct index *x)
{
	enum clew_err err = CLEW_OK;

	vec_for_each (&s->in->scan->guest.lanes, l) {
		const uint64_t *tid = thread_of(s, l->vcpu);

		buf_u64(&x->one, *map_u64_get(&m->ids, evsel << 32 | l->vcpu));
		buf_u64(&x->one, l->vcpu);
		buf_u64(&x->one, UINT64_MAX);
		buf_u64(&x->one, tid ? *tid : s->in->match->pid);
		buf_u64(&x->two, s->in->match->pid);
		buf_u64(&x->two, l->vcpu);
		if (++x->nr == INDEX_MAX)
			err = err ? err : flush_index(m, x);
	}
	return err;
}

static enum clew_err put_index(struct merge *m)
{
	struct index x = {0};
	enum clew_err err = CLEW_OK;

	vec_for_each (&m->sources, s) {
		size_t nr = perf_file_evlist(s->file)->evsels.nr;

		for (size_t i = 0; i < nr && !err; i++)
			err = index_event(m, s, s->first_evsel + i, &x);
	}
	err = err ? err : flush_index(m, &x);
	buf_done(&x.one);
	buf_done(&x.two);
	return err;
}

/* --- records out --- */

static enum clew_err flush(struct merge *m)
{
	static const struct perf_event_header round = {.type = PERF_RECORD_FINISHED_ROUND,
						       .size = sizeof(round)};
	enum clew_err err = m->out.is_failed
				  ? CLEW_NO_MEMORY
				  : perf_writer_records(m->writer, m->out.data, m->out.nr);

	m->round_bytes += m->out.nr;
	buf_clear(&m->out);
	if (err || m->round_bytes < BATCH_BYTES)
		return err;
	m->round_bytes = 0;
	return perf_writer_plain(m->writer, &round, sizeof(round));
}

/* --- a guest's records --- */

static const struct perf_evsel *evsel_of(struct source *s, const struct perf_record *r,
					 uint32_t *ret_cpu)
{
	struct perf_evlist *l = perf_file_evlist(s->file);
	const struct perf_evsel *e =
		perf_evlist_of_record(l, r->type, perf_record_body(r), r->swap);
	struct perf_sample_id id;
	struct perf_sample sample;

	*ret_cpu = 0;
	if (!e && r->type == PERF_RECORD_SAMPLE)
		return NULL;
	e = e ? e : l->evsels.data[0]; /* made up by the recorder: no id */
	if (r->type == PERF_RECORD_SAMPLE) {
		if (perf_sample_parse(perf_record_body(r), r->misc, r->swap, &e->attr, &sample))
			return NULL;
		*ret_cpu = sample.cpu;
	} else if (!perf_sample_id_parse(perf_record_body(r), r->swap, &e->attr, &id)) {
		*ret_cpu = id.time ? id.cpu : 0;
	}
	return e;
}

/** Was the thread on one CPU all the time at which the record may have been written? */
static bool is_cpu_certain(const struct merge *m, const struct source *s, uint32_t tid)
{
	const uint64_t *at = map_u64_get(&m->scan->threads, tid);
	int64_t t = (int64_t)(s->next_time - m->scan->base);
	const struct fit_host_lane *l;

	if (!at)
		return true;
	l = &m->scan->vmms.data[*at >> 32].host.lanes.data[(uint32_t)*at];
	return !fit_is_in_hole(&l->moves, t - s->band_ns, t + s->band_ns);
}

static uint32_t cpu_of(struct merge *m, const struct source *s, uint32_t vcpu)
{
	const uint64_t *tid = thread_of(s, vcpu);
	const uint64_t *cpu = tid ? map_u64_get(&m->cpus, *tid) : NULL;

	/* perf's decoders need a CPU in records that are no samples. */
	if (cpu && s->next.type == PERF_RECORD_SAMPLE && !is_cpu_certain(m, s, (uint32_t)*tid))
		cpu = NULL;

	m->counts->nr_off_cpu += !cpu;
	return cpu ? (uint32_t)*cpu : NO_CPU;
}

static enum clew_err put_guest(struct merge *m, struct source *s)
{
	const struct perf_record *r = &s->next;
	uint32_t vcpu;
	const struct perf_evsel *e = evsel_of(s, r, &vcpu);
	uint64_t evsel = e ? s->first_evsel + e->index : 0;
	const uint64_t *id = e ? map_u64_get(&m->ids, evsel << 32 | vcpu) : NULL;
	size_t at = m->out.nr;
	struct merge_stamp stamp;

	if (e && !id && s->in->scan->guest.lanes.nr) /* no switch and no sample is of that CPU */
		id = map_u64_get(&m->ids, evsel << 32 | s->in->scan->guest.lanes.data[0].vcpu);
	if (!id) {
		m->counts->nr_bad++;
		return CLEW_OK;
	}
	stamp = (struct merge_stamp){*id, s->next_time, s->next_time ? cpu_of(m, s, vcpu) : 0};
	if (!merge_put_guest(&m->out, r, &e->attr, &stamp)) {
		m->out.nr = at;
		m->counts->nr_bad++;
	} else {
		m->counts->nr_guest++;
	}
	return m->out.nr >= BATCH_BYTES ? flush(m) : CLEW_OK;
}

static void take_time(struct source *s, struct clew_perf_ns time)
{
	const struct guest_match *g = s->in->match;

	s->next_time = 0;
	if (!ana_has_place(time))
		return;
	s->next_time = merge_clock_convert(&g->host, &g->guest, &g->fit.pieces, time.ns);
	/* Where a piece ends, the next may begin a little earlier. */
	if (s->next_time < s->last_time)
		s->next_time = s->last_time;
	s->last_time = s->next_time;
}

static enum clew_err fetch(struct merge *m, struct source *s, struct clew_diag *diag)
{
	struct clew_perf_ns time;
	enum clew_err err;

	s->has_next = false;
	while (!s->is_over) {
		err = ana_reader_next(&s->reader, &s->next, &time, diag);
		if (err == CLEW_END || err == CLEW_TRUNCATED || err == CLEW_BAD_FILE) {
			s->is_over = true;
			return CLEW_OK;
		}
		if (err)
			return err;
		if (merge_takes(s->next.type)) {
			take_time(s, time);
			s->has_next = true;
			return CLEW_OK;
		}
		if (s->next.type == PERF_RECORD_AUXTRACE)
			m->counts->aux_bytes += bytes_left(&s->next.payload);
		m->counts->nr_skipped += s->next.type < PERF_RECORD_HEADER_ATTR;
		perf_block_release(s->next.block);
	}
	return CLEW_OK;
}

/* The oldest of those that are no newer than @p until. */
static struct source *oldest(struct merge *m, uint64_t until)
{
	struct source *best = NULL;

	vec_for_each (&m->sources, s) {
		if (s->has_next && s->next_time <= until &&
		    (!best || s->next_time < best->next_time))
			best = s;
	}
	return best;
}

static enum clew_err put_guests(struct merge *m, uint64_t until, struct clew_diag *diag)
{
	enum clew_err err = CLEW_OK;
	struct source *s;

	while (!err && (s = oldest(m, until))) {
		err = put_guest(m, s);
		perf_block_release(s->next.block);
		s->has_next = false;
		err = err ? err : fetch(m, s, diag);
	}
	return err;
}

/* --- the host's records --- */

static enum clew_err note_cpu(struct merge *m, const struct perf_record *r,
			      const struct perf_attr *attr)
{
	struct perf_sample_id id;
	struct perf_switch w;

	if ((r->type != PERF_RECORD_SWITCH && r->type != PERF_RECORD_SWITCH_CPU_WIDE) ||
	    perf_switch_parse(r, &w) || w.is_out ||
	    perf_sample_id_parse(perf_record_body(r), r->swap, attr, &id) ||
	    !map_u64_get(&m->scan->threads, id.tid))
		return CLEW_OK;
	return map_u64_put(&m->cpus, id.tid, id.cpu) ? CLEW_OK : CLEW_NO_MEMORY;
}

static enum clew_err put_host(struct merge *m, const struct perf_record *r)
{
	struct perf_evlist *l = perf_file_evlist(m->host);
	const struct perf_evsel *e = NULL;
	enum clew_err err = CLEW_OK;

	if (r->type < PERF_RECORD_HEADER_ATTR) {
		e = perf_evlist_of_record(l, r->type, perf_record_body(r), r->swap);
		e = e ? e : l->evsels.data[0];
		err = note_cpu(m, r, &e->attr);
	}
	if (!merge_put_host(&m->out, r, e ? &e->attr : NULL,
			    e ? m->evlist.evsels.data[e->index]->ids[0] : 0))
		m->counts->nr_bad++;
	m->counts->nr_host += r->type < PERF_RECORD_HEADER_ATTR;
	return err || m->out.nr < BATCH_BYTES ? err : flush(m);
}

static enum clew_err take_host(struct merge *m, const struct perf_record *r,
			       struct clew_perf_ns time, struct clew_diag *diag)
{
	enum clew_err err = CLEW_OK;

	if (r->type < PERF_RECORD_HEADER_ATTR && ana_has_place(time))
		err = put_guests(m, time.ns, diag);
	if (err)
		return err;
	switch (r->type) {
	case PERF_RECORD_HEADER_ATTR: /* these stand in the file's header */
	case PERF_RECORD_HEADER_FEATURE:
	case PERF_RECORD_HEADER_TRACING_DATA:
	case PERF_RECORD_FINISHED_ROUND: /* flush() makes them */
		return CLEW_OK;
	case PERF_RECORD_AUXTRACE:
		err = flush(m);
		return err ? err
			   : perf_writer_auxtrace(m->writer, r->data, r->size, &r->payload, 1);
	default:
		return put_host(m, r);
	}
}

static enum clew_err take_all(struct merge *m, struct clew_diag *diag)
{
	struct perf_record r;
	struct clew_perf_ns time;
	enum clew_err err = CLEW_OK;

	while (!err && !(err = ana_reader_next(&m->reader, &r, &time, diag))) {
		err = take_host(m, &r, time, diag);
		perf_block_release(r.block);
	}
	if (err != CLEW_END && err != CLEW_TRUNCATED)
		return err;
	err = put_guests(m, UINT64_MAX, diag);
	return err ? err : flush(m);
}

/* --- the pass --- */

static enum clew_err open_reader(struct ana_reader *rd, struct perf_file *file,
				 const struct perf_input *in, bool *ret_has)
{
	enum clew_err err = ana_reader_init(rd, file, in, in->is_mapped);

	*ret_has = !err;
	return err;
}

static enum clew_err open_source(struct merge *m, const struct guest_merge_in *in,
				 struct clew_diag *diag)
{
	struct source *s;
	enum clew_err err;

	if (!vec_push(&m->sources, (struct source){.in = in}))
		return CLEW_NO_MEMORY;
	s = &m->sources.data[m->sources.nr - 1];
	err = perf_file_open(&s->file, in->in, diag);
	err = err ? err : open_reader(&s->reader, s->file, in->in, &s->has_reader);
	return err ? err : add_guest_events(m, s);
}

static enum clew_err run(struct merge *m, const struct perf_input *host,
			 const struct guest_merge_in *guests, size_t nr,
			 const struct perf_writer_out *out, struct clew_diag *diag)
{
	static const struct perf_writer_opts plain;
	enum clew_err err = perf_file_open(&m->host, host, diag);

	err = err ? err : open_reader(&m->reader, m->host, host, &m->has_reader);
	err = err ? err : add_host_events(m);
	for (size_t i = 0; i < nr && !err; i++)
		err = open_source(m, &guests[i], diag);
	err = err ? err : perf_writer_open(&m->writer, out, &m->evlist, &plain);
	err = err ? err : put_features(m, guests, nr);
	err = err ? err : put_index(m);
	for (size_t i = 0; i < nr && !err; i++)
		err = fetch(m, &m->sources.data[i], diag);
	progress_begin(host->progress, GUEST_MERGE_PHASE, host->size);
	err = err ? err : take_all(m, diag);
	return err ? err : perf_writer_finish(m->writer);
}

static void done(struct merge *m)
{
	vec_for_each (&m->sources, s) {
		if (s->has_next)
			perf_block_release(s->next.block);
		if (s->has_reader)
			ana_reader_done(&s->reader);
		perf_file_free(s->file);
		map_u64_done(&s->threads);
	}
	vec_done(&m->sources);
	if (m->has_reader)
		ana_reader_done(&m->reader);
	perf_file_free(m->host);
	perf_writer_free(m->writer);
	perf_evlist_done(&m->evlist);
	map_u64_done(&m->ids);
	map_u64_done(&m->cpus);
	buf_done(&m->out);
}

enum clew_err guest_merge(const struct perf_input *host, const struct merge_scan *host_scan,
			  const struct guest_merge_in *guests, size_t nr,
			  const struct perf_writer_out *out, struct guest_merge_counts *ret,
			  struct clew_diag *diag)
{
	struct merge m = {.counts = ret, .scan = host_scan, .next_id = 1};
	enum clew_err err;

	*ret = (struct guest_merge_counts){0};
	err = run(&m, host, guests, nr, out, diag);
	done(&m);
	if (err && diag->code != err)
		*diag = (struct clew_diag){.code = err, .what = clew_err_name(err)};
	return err;
}
