/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_CORESIGHT_CS_FRAME_H
#define PACKET_CORESIGHT_CS_FRAME_H

#include <clew/err.h>

#include "base/bytes.h"
#include "base/vec.h"

/*
 * The CoreSight formatter: 16-byte frames carry the bytes of up to 111 trace sources.
 *
 *   byte 0 2 4 .. 14   bit 0 = 1: an ID (bits 7:1); 0: data, its bit 0 is in the frame's last byte
 *   byte 1 3 5 .. 13   data
 *   byte 15            bit k: of byte 2k; next to an ID, that the byte after it still is the old
 *                      ID's
 *
 * Spec: CoreSight Architecture Specification (IHI 0029), "Trace Formatter"; TPIU framing (FSYNC,
 * HSYNC): "Trace Port Interface Unit".
 */

enum cs_layout {
	CS_MEMORY, /* aligned frames (ETR, ETF, ETB; perf); only barriers of four FSYNCs between */
	CS_TPIU,   /* FSYNC between frames */
	CS_TPIU_HSYNC, /* and HSYNC inside */
	CS_DSTREAM,    /* CS_TPIU in blocks with footers (cs_dstream.h) */
};

enum { CS_FRAME_BYTES = 16, CS_NR_IDS = 128 };

/** Stream byte pos is byte at (0 to 14) of the frame at offset, and so on to the next mark: 15
 * bytes in each frame of 16. */
struct cs_mark {
	uint64_t pos, offset;
	unsigned int at;
};

/** Bytes of one source since it was last emptied. */
struct cs_stream {
	struct {
		VEC(uint8_t);
	} bytes;
	struct {
		VEC(struct cs_mark);
	} marks; /* where no frame has an ID there is only one */
};

/** Of several barriers, or of several broken frames, in a row only the first is an event. */
enum cs_event {
	CS_DONE,    /* all input taken */
	CS_BARRIER, /* four FSYNCs in an aligned frame: what follows does not continue what came
		       before. Every source starts again */
	CS_LOST,    /* not a frame: searching the next FSYNC (CS_TPIU and kin), or the next frame
		       (CS_MEMORY). Bytes of any source may be missing here */
};

struct cs_counts {
	uint64_t nr_frames, nr_barriers;
	uint64_t nr_lost; /* broken frames, or times that the frames were lost */
	/* Data bytes of no source: padding; of an ID above 0x6f; before the first ID. */
	uint64_t nr_id0_bytes, nr_reserved_bytes, nr_unowned_bytes;
	/* Input that is in no frame and is no sync: broken, or skipped while searching. */
	uint64_t nr_skipped_bytes;
};

/** What the input consists of, for those who look at the frames themselves. */
enum cs_seen_kind {
	CS_SEEN_FRAME,
	CS_SEEN_BARRIER, /* a frame of four FSYNCs */
	CS_SEEN_BROKEN,  /* CS_MEMORY: a frame with sync bytes in it */
	CS_SEEN_FSYNC,
	CS_SEEN_HSYNC,   /* one inside a frame comes before the frame */
	CS_SEEN_FOOTER,  /* CS_DSTREAM */
	CS_SEEN_SKIPPED, /* a half frame, or no frames yet */
	NR_CS_SEEN,
};

struct cs_seen {
	enum cs_seen_kind kind;
	uint8_t id;      /* before a frame; 0xff: unknown */
	uint64_t offset; /* where it begins in the input, */
	uint64_t size;   /* and how much of it that is, HSYNCs apart */
	const uint8_t
		*bytes; /* 16, of a frame, barrier or broken one; else NULL. During the call */
};

/** Neighbouring data bytes of one frame that are of one source. */
struct cs_part {
	uint8_t id; /* 0: padding; 0xff: unknown */
	uint8_t at, size;
};

enum { CS_MAX_PARTS = 8 };

/** Take a frame apart that follows @p id: where each data byte belongs. @return how many parts. */
unsigned int cs_frame_parts(const uint8_t *frame, uint8_t id, struct cs_part ret[CS_MAX_PARTS]);

struct cs_demux; /* about 1 KiB and the streams */

struct cs_demux *cs_demux_new(enum cs_layout layout);
void cs_demux_free(struct cs_demux *d);

/** Report all there is in the input, which makes it slow. @p seen must not call back. */
void cs_demux_watch(struct cs_demux *d, void (*seen)(void *ctx, const struct cs_seen *s),
		    void *ctx);

/** Forget the current ID and any half frame, and count its bytes as skipped: a new buffer begins at
 * input offset @p offset. */
void cs_demux_restart(struct cs_demux *d, uint64_t offset);

/**
 * Take input until its end or an event. @p in's cursor moves past what was taken; a half frame
 * is kept inside. *ret_offset: of the event, in input bytes. Any chunking gives the same streams.
 *
 * Large input: feed a piece, take what each stream got, cs_stream_clear() it, and so on. Memory is
 * then bounded by the pieces (each stream's can grow to twice one), and pieces of 64 KiB stay in
 * the cache.
 * @return false: out of memory; only cs_demux_free() may follow.
 */
bool cs_demux_feed(struct cs_demux *d, struct bytes *in, enum cs_event *ret, uint64_t *ret_offset);

/** The stream of an ID (0x01-0x6f), or NULL where none ever came. It stays where it is. */
struct cs_stream *cs_demux_stream(struct cs_demux *d, unsigned int id);

/** Its bytes were used: the next one is at 0 again. Between feeds. */
static inline void cs_stream_clear(struct cs_stream *s)
{
	s->bytes.nr = s->marks.nr = 0;
}

/** Input offset of stream byte @p pos, counted from @p m, which is at or before it. Exact, but for
 * frames with a sync or footer in them. */
static inline uint64_t cs_stream_offset_from(const struct cs_mark *m, uint64_t pos)
{
	uint64_t n = pos - m->pos + m->at;

	return m->offset + n / (CS_FRAME_BYTES - 1) * CS_FRAME_BYTES + n % (CS_FRAME_BYTES - 1);
}

/** Input offset of stream byte @p pos. O(log marks). */
uint64_t cs_stream_offset(const struct cs_stream *s, size_t pos);

/**
 * The bytes at @p pos that lie side by side in the input: *ret_offset says where. *mark is the
 * caller's, 0 for the first.
 * @return where the next such bytes begin; the stream's end: they were the last.
 */
uint64_t cs_stream_piece(const struct cs_stream *s, uint64_t pos, size_t *mark,
			 uint64_t *ret_offset);

const struct cs_counts *cs_demux_counts(const struct cs_demux *d);
void cs_counts_add(struct cs_counts *sum, const struct cs_counts *c);

#endif
