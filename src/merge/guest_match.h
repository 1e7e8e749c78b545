/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MERGE_GUEST_MATCH_H
#define MERGE_GUEST_MATCH_H

#include "merge/merge_read.h"

/** An offset that the user gives, as perf does: guest = host * scale + offset, in ticks where both
 * recordings know their counter, else in ns. */
struct guest_given {
	int64_t offset;
	double scale; /* in [0.5, 2] or so; 1 unless scaled */
};

/** How one guest's recording fits one process of the host. */
struct guest_match {
	uint32_t pid;
	bool is_ticks;
	struct perf_time_conv convs[2];
	struct merge_clock host, guest; /* borrow convs: not to be copied */
	struct fit_result fit;
};

/** @p given NULL: the offset is looked for; else this one is verified. @return CLEW_NO_MEMORY. */
enum clew_err guest_match(const struct merge_scan *host, const struct merge_vmm *vmm,
			  const struct merge_scan *guest, const struct guest_given *given,
			  struct guest_match *ret);
void guest_match_done(struct guest_match *m);

/** How far a guest's time on the host's clock may be from the truth, in ns, rounded up. */
uint64_t guest_match_band_ns(const struct guest_match *m);
/** The offset as given and as perf names it, guest - host, at guest time 0 of the counter's (or
 * of ns) if it is one counter, and at the first piece. */
int64_t guest_match_offset(const struct guest_match *m);

#endif
