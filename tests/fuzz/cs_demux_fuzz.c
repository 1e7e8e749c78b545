/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/coresight/cs_dstream.h"
#include "packet/coresight/cs_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	uint64_t hash, nr_events, nr_bytes;
};

static void mix(struct outcome *o, uint64_t v)
{
	o->hash = (o->hash ^ v) * 0x100000001b3;
}

/** By ID, so that it does not matter when streams are drained. */
static void drain(struct cs_demux *d, uint64_t size, struct outcome ret[static CS_NR_IDS])
{
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		struct cs_stream *s = cs_demux_stream(d, id);
		uint64_t last = 0;

		for (size_t i = 0; s && i < s->bytes.nr; i++) {
			uint64_t at = cs_stream_offset(s, i);

			if (at >= size || (i && at <= last))
				__builtin_trap();
			last = at;
			mix(&ret[id], at << 8 | s->bytes.data[i]);
			ret[id].nr_bytes++;
		}
		if (s)
			cs_stream_clear(s);
	}
}

static void run(enum cs_layout layout, struct bytes in, size_t chunk, bool drains,
		struct outcome ret[static CS_NR_IDS])
{
	struct cs_demux *d = cs_demux_new(layout);
	uint64_t size = bytes_left(&in), nr = 0, offset;
	const struct cs_counts *c;
	struct bytes part;

	while (d && bytes_left(&in) &&
	       bytes_take(&in, chunk < bytes_left(&in) ? chunk : bytes_left(&in), &part)) {
		enum cs_event event;

		do {
			if (!cs_demux_feed(d, &part, &event, &offset) || offset > size)
				__builtin_trap();
			if (event != CS_DONE)
				mix(&ret[0], offset << 2 | event);
		} while (event != CS_DONE);
		if (drains)
			drain(d, size, ret);
	}
	if (!d)
		return;
	drain(d, size, ret);
	c = cs_demux_counts(d);
	for (unsigned int id = 0; id < CS_NR_IDS; id++)
		nr += ret[id].nr_bytes;
	nr += c->nr_id0_bytes + c->nr_reserved_bytes + c->nr_unowned_bytes;
	if (nr > c->nr_frames * (CS_FRAME_BYTES - 1) ||
	    c->nr_frames * CS_FRAME_BYTES + c->nr_skipped_bytes > size)
		__builtin_trap();
	cs_demux_free(d);
}

/* The first byte says which layout, and how the rest is cut. However that is, the same comes out.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t chunks[] = {1, 7, 16, 100};
	struct outcome whole[CS_NR_IDS] = {{0}}, cut[CS_NR_IDS] = {{0}};
	enum cs_layout layout;

	if (!size)
		return 0;
	layout = (enum cs_layout)(data[0] & 3);
	if (cs_is_dstream(data + 1, size - 1) && size - 1 < CS_DSTREAM_BLOCK)
		__builtin_trap();
	run(layout, bytes_of(data + 1, size - 1), size, false, whole);
	run(layout, bytes_of(data + 1, size - 1), chunks[data[0] >> 2 & 3], data[0] & 16, cut);
	for (unsigned int id = 0; id < CS_NR_IDS; id++) {
		if (whole[id].nr_bytes != cut[id].nr_bytes || whole[id].hash != cut[id].hash)
			__builtin_trap();
	}
	return 0;
}
