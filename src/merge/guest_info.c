/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_merge.h"

enum { INFO_VERSION = 1 };

static void put_piece(struct buf *b, const struct guest_match *m, const struct fit_piece *p)
{
	uint64_t slope;

	memcpy(&slope, &p->line.slope, sizeof(slope));
	buf_le64(b, m->guest.base + (uint64_t)p->from);
	buf_le64(b, m->guest.base + (uint64_t)p->to);
	buf_le64(b, m->guest.base + (uint64_t)p->line.at);
	buf_le64(b, m->host.base + (uint64_t)(p->line.at + p->line.offset));
	buf_le64(b, slope);
	for (int i = 0; i < 2; i++) {
		int64_t at = i ? p->to : p->from, d = fit_line_at(&p->line, at);

		buf_le64(b, (uint64_t)(p->bands[i].low - d));
		buf_le64(b, (uint64_t)(p->bands[i].high - d));
	}
	buf_le64(b, p->nr_matched);
	buf_le64(b, p->nr_edges);
}

void guest_merge_put_info(struct buf *b, const struct guest_merge_in *guests, size_t nr)
{
	buf_add(b, "CLEWGST", 7);
	buf_char(b, INFO_VERSION);
	buf_le64(b, nr);
	for (size_t i = 0; i < nr; i++) {
		const struct guest_match *m = guests[i].match;
		size_t path_bytes = strlen(guests[i].path) + 1;

		buf_le32(b, m->pid);
		buf_le32(b, m->fit.verdict);
		buf_le32(b, m->is_ticks);
		buf_le32(b, (uint32_t)path_bytes);
		buf_le64(b, m->fit.contained.nr_inside);
		buf_le64(b, m->fit.contained.nr);
		buf_le64(b, m->fit.pieces.nr);
		vec_for_each (&m->fit.pieces, p)
			put_piece(b, m, p);
		buf_add(b, guests[i].path, path_bytes);
		buf_fill(b, '\0', -path_bytes & 7);
	}
}

static bool next_entry(struct bytes *b, struct perf_event_header *ret, struct bytes *ret_entry)
{
	if (bytes_left(b) < sizeof(*ret))
		return false;
	memcpy(ret, b->pos, sizeof(*ret));
	return ret->size >= sizeof(*ret) + sizeof(uint32_t) && bytes_take(b, ret->size, ret_entry);
}

void guest_merge_put_build_ids(struct buf *b, struct bytes section, uint32_t machine)
{
	struct perf_event_header h;
	struct bytes entry;

	while (next_entry(&section, &h, &entry)) {
		bool is_kernel =
			(h.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
		const uint8_t *rest = entry.pos + sizeof(h) + sizeof(machine);

		h.misc &= (uint16_t)~PERF_RECORD_MISC_CPUMODE_MASK;
		h.misc |= is_kernel ? PERF_RECORD_MISC_GUEST_KERNEL : PERF_RECORD_MISC_GUEST_USER;
		buf_add(b, &h, sizeof(h));
		buf_u32(b, machine);
		buf_add(b, rest, (size_t)(entry.end - rest));
	}
}
