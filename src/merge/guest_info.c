/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_merge.h"
#include "perfdata/perf_guest_fits.h"

static struct perf_guest_piece piece_of(const struct guest_match *m, const struct fit_piece *p)
{
	struct perf_guest_piece ret = {.from = m->guest.base + (uint64_t)p->from,
				       .to = m->guest.base + (uint64_t)p->to,
				       .guest_at = m->guest.base + (uint64_t)p->line.at,
				       .host_at = m->host.base +
						  (uint64_t)(p->line.at + p->line.offset),
				       .slope = p->line.slope,
				       .nr_matched = p->nr_matched,
				       .nr_edges = p->nr_edges};

	for (int i = 0; i < 2; i++) {
		int64_t d = fit_line_at(&p->line, i ? p->to : p->from);

		ret.low[i] = p->bands[i].low - d;
		ret.high[i] = p->bands[i].high - d;
	}
	return ret;
}

uint64_t guest_match_band_ns(const struct guest_match *m)
{
	double per_us = m->is_ticks ? merge_ticks_per_us(m->host.conv) : 1000, most = 0;

	vec_for_each (&m->fit.pieces, p) {
		struct perf_guest_piece x = piece_of(m, p);

		for (int i = 0; i < 2; i++) {
			most = (double)x.high[i] > most ? (double)x.high[i] : most;
			most = -(double)x.low[i] > most ? -(double)x.low[i] : most;
		}
	}
	return (uint64_t)(most * 1000 / per_us) + 1;
}

static bool add_guest(struct perf_guest_fits *fits, const struct guest_merge_in *in)
{
	static const enum perf_guest_verdict verdicts[] = {[FIT_NOT_FOUND] = PERF_GUEST_GIVEN,
							   [FIT_LIKELY] = PERF_GUEST_LIKELY,
							   [FIT_SURE] = PERF_GUEST_SURE};
	const struct guest_match *m = in->match;
	struct perf_guest_fit g = {.machine = m->pid,
				   .verdict = verdicts[m->fit.verdict],
				   .is_ticks = m->is_ticks,
				   .path = in->path,
				   .band_ns = guest_match_band_ns(m),
				   .nr_inside = m->fit.contained.nr_inside,
				   .nr_events = m->fit.contained.nr};
	bool ok = true;

	vec_for_each (&m->fit.pieces, p)
		ok = ok && vec_push(&g.pieces, piece_of(m, p));
	ok = ok && vec_push(&fits->guests, g);
	if (!ok)
		vec_done(&g.pieces);
	return ok;
}

bool guest_merge_put_info(struct buf *b, const struct guest_merge_in *guests, size_t nr)
{
	struct perf_guest_fits fits = {0};
	bool ok = true;

	for (size_t i = 0; i < nr && ok; i++)
		ok = add_guest(&fits, &guests[i]);
	if (ok)
		perf_put_guest_fits(b, &fits);
	perf_guest_fits_done(&fits);
	return ok;
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
