/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "merge/guest_match.h"

/* The line of: guest = host * scale + offset. */
static void take_given(const struct guest_match *m, const struct guest_given *given,
		       struct fit_opts *opts)
{
	/* host - guest at guest time g: (g - offset) / scale - g. Not at once, as g may have
	 * more digits than a double. */
	double slope = 1 / given->scale - 1;
	uint64_t g = m->guest.base, at;

	if (given->scale >= 1 && given->scale <= 1) {
		at = (uint64_t)0 - (uint64_t)given->offset;
	} else {
		double since = (double)(int64_t)(g - (uint64_t)given->offset);

		at = (uint64_t)(int64_t)(since * slope) - (uint64_t)given->offset;
	}
	opts->has_offset = true;
	opts->slope = slope;
	opts->offset = (int64_t)(at + m->guest.base - m->host.base);
	if (!fit_time_fits(opts->offset))
		opts->offset = (int64_t)1 << FIT_TIME_BITS; /* matches nothing */
}

static enum clew_err fit_in(const struct merge_scan *host, const struct merge_vmm *vmm,
			    const struct merge_scan *guest, const struct guest_given *given,
			    struct guest_match *m)
{
	const struct merge_clock host_ns = {.base = host->base}, guest_ns = {.base = guest->base};
	struct fit_opts opts = {.per_us = m->is_ticks ? merge_ticks_per_us(&host->conv) : 1000,
				.is_one_clock = m->is_ticks};
	struct fit_host h = {0};
	struct fit_guest g = {0};
	enum clew_err err = CLEW_NO_MEMORY;

	if (given)
		take_given(m, given, &opts);
	if (!m->is_ticks)
		return guest_fit(&vmm->host, &guest->guest, &opts, &m->fit);
	if (merge_host_in(&host_ns, &m->host, &vmm->host, &h) &&
	    merge_guest_in(&guest_ns, &m->guest, &guest->guest, &g))
		err = guest_fit(&h, &g, &opts, &m->fit);
	fit_host_done(&h);
	fit_guest_done(&g);
	return err;
}

/* Counters of different speeds are not one counter. */
static bool is_one_counter(const struct merge_scan *host, const struct merge_scan *guest)
{
	double a, b;

	if (!host->has_conv || !guest->has_conv)
		return false;
	a = merge_ticks_per_us(&host->conv);
	b = merge_ticks_per_us(&guest->conv);
	return a / b < 1.001 && b / a < 1.001;
}

static void set_clocks(const struct merge_scan *host, const struct merge_scan *guest, bool is_ticks,
		       struct guest_match *m)
{
	m->is_ticks = is_ticks;
	m->convs[0] = host->conv;
	m->convs[1] = guest->conv;
	m->host = (struct merge_clock){.base = host->base};
	m->guest = (struct merge_clock){.base = guest->base};
	if (!is_ticks)
		return;
	m->host = (struct merge_clock){&m->convs[0], merge_ticks_of(&m->convs[0], host->base)};
	m->guest = (struct merge_clock){&m->convs[1], merge_ticks_of(&m->convs[1], guest->base)};
}

enum clew_err guest_match(const struct merge_scan *host, const struct merge_vmm *vmm,
			  const struct merge_scan *guest, const struct guest_given *given,
			  struct guest_match *ret)
{
	bool is_ticks = is_one_counter(host, guest);
	enum clew_err err;

	ret->pid = vmm->pid;
	ret->fit = (struct fit_result){0};
	set_clocks(host, guest, is_ticks, ret);
	err = fit_in(host, vmm, guest, given, ret);
	if (err || !is_ticks || given || ret->fit.verdict == FIT_SURE)
		return err;
	/* The counter may be scaled, or TIME_CONV be of another clock: as if there were none. */
	if (ret->fit.verdict == FIT_NOT_FOUND) {
		fit_result_done(&ret->fit);
		set_clocks(host, guest, false, ret);
		err = fit_in(host, vmm, guest, NULL, ret);
	}
	return err;
}

void guest_match_done(struct guest_match *m)
{
	fit_result_done(&m->fit);
}

int64_t guest_match_offset(const struct guest_match *m)
{
	const struct fit_piece *p = m->fit.pieces.data;

	if (!m->fit.pieces.nr)
		return 0;
	return (int64_t)(m->guest.base - m->host.base) - p->line.offset;
}
