/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/err.h"
#include "trace/cs_listener.h"
#include "trace/cs_marks.h"
#include "trace/perf/perf_trace_impl.h"
#include "trace/perf/units_etm.h"

enum { FEED_BYTES = 64 << 10, /* demultiplexed at a time */ };

static struct etm_pass *pass_of(const struct trace_steps *r)
{
	return aux_streams_own(r, PERF_AUXTRACE_CS_ETM);
}

static const struct units_etm *units_of(const struct trace_steps *r)
{
	return r->p->protocols[perf_trace_protocol(r->p, PERF_AUXTRACE_CS_ETM)].units;
}

static void take_seen(void *ctx, const struct cs_seen *s)
{
	struct trace_steps *r = ctx;
	const struct cs_listener *k = r->sink->coresight;
	struct etm_pass *pass = pass_of(r);

	if (!pass->seen_err)
		pass->seen_err = k->seen(k->ctx, NULL, s);
}

void *etm_reader_new(struct trace_steps *r)
{
	struct cs_demux *ret = cs_demux_new(CS_MEMORY);

	if (ret && r->sink->coresight && r->sink->coresight->seen)
		cs_demux_watch(ret, take_seen, r);
	return ret;
}

void etm_reader_free(void *reader)
{
	cs_demux_free(reader);
}

void etm_reader_restart(void *reader, uint64_t offset)
{
	cs_demux_restart(reader, offset);
}

static enum clew_err give_stream(struct trace_steps *r, const struct aux_stream *l, uint32_t unit,
				 const struct cs_stream *s)
{
	enum clew_err err = aux_streams_begin(r, l, unit);

	if (!err)
		err = cs_put_marks(r->sink, unit, r->offsets[unit], s);
	return err ? err : aux_streams_give(r, unit, bytes_of(s->bytes.data, s->bytes.nr));
}

/** Reported once for each ID. */
static enum clew_err drop(struct trace_steps *r, unsigned int id, const struct cs_stream *s)
{
	struct cs_leftover *frames = &pass_of(r)->frames;
	bool was_reported = frames->nr_unclaimed[id];

	frames->nr_unclaimed[id] += s->bytes.nr;
	if (was_reported)
		return CLEW_OK;
	return aux_streams_warn(r, "trace of an ID that no metadata describes", id,
				cs_stream_offset(s, 0));
}

static uint32_t sink_of(const struct trace_steps *r, const struct aux_chunk *c)
{
	const struct etm_cpu *cpu = etm_meta_cpu(&units_of(r)->meta, c->cpu);

	return cpu ? cpu->sink : 0;
}

static enum clew_err give_streams(struct trace_steps *r, const struct aux_stream *l)
{
	uint32_t sink = sink_of(r, l->chunk);

	for (unsigned int id = 1; id < 0x70; id++) {
		struct cs_stream *s = cs_demux_stream(l->reader, id);
		uint64_t *unit;
		enum clew_err err;

		if (!s || !s->bytes.nr)
			continue;
		unit = map_u64_get(&units_of(r)->by_id, etm_id_key(sink, id));
		err = unit ? give_stream(r, l, (uint32_t)*unit, s) : drop(r, id, s);
		cs_stream_clear(s);
		if (err)
			return err;
	}
	return CLEW_OK;
}

static enum clew_err take_frames(struct trace_steps *r, struct aux_stream *l, struct bytes in)
{
	while (bytes_left(&in)) {
		size_t nr = bytes_left(&in) < FEED_BYTES ? bytes_left(&in) : FEED_BYTES;
		struct bytes part = {in.pos, in.pos + nr};
		enum cs_event event;
		enum clew_err err;
		uint64_t offset;

		if (!cs_demux_feed(l->reader, &part, &event, &offset))
			return CLEW_NO_MEMORY;
		err = pass_of(r)->seen_err;
		if (!err)
			err = give_streams(r, l);
		if (event == CS_BARRIER)
			aux_streams_break(r, l);
		if (!err && event == CS_LOST)
			err = aux_streams_warn(r, "bytes that are no frame", 0, offset);
		if (err)
			return err;
		in.pos = part.pos;
	}
	return CLEW_OK;
}

enum clew_err etm_reader_take(struct trace_steps *r, struct aux_stream *l, struct bytes in,
			      uint64_t offset)
{
	return etm_is_raw(l->chunk) ? aux_streams_take_raw(r, l, in, offset)
				    : take_frames(r, l, in);
}

enum clew_err etm_reader_end(struct trace_steps *r, struct aux_stream *l)
{
	const struct cs_listener *k = r->sink->coresight;
	struct etm_pass *pass = pass_of(r);

	if (l->reader) {
		cs_demux_restart(l->reader, 0);
		pass->frames.counts = *cs_demux_counts(l->reader);
	}
	if (pass->seen_err)
		return pass->seen_err;
	return k && k->frames ? k->frames(k->ctx, &pass->frames) : CLEW_OK;
}
