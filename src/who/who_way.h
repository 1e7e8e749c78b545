/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_WAY_H
#define WHO_WHO_WAY_H

#include "who/who_ran.h"

/*
 * Did an instruction of a trace run in the host or in a guest? Decided by its level, and by how
 * execution reached that level.
 *
 * Spec: ../shared/spec/attribution.md, sections 10.2 and 10.3.
 */

/** The exception return that led down from EL2. */
enum who_entry {
	WHO_ENTRY_UNKNOWN, /* none was seen, or its code has no symbol */
	WHO_ENTRY_OF_HOST,
	WHO_ENTRY_OF_GUEST, /* in the hypervisor's code that enters guests */
};

struct who_way {
	enum who_level level;
	enum who_level upper; /* at EL0: the last higher level, if no gap followed; else as level */
	enum who_entry entry;
	enum who_world
		start; /* if the trace begins at EL0: of the code before the first exception */
	bool has_vmid; /* a VMID, of VTTBR_EL2 */
	uint32_t vmid;
};

/** @p kernel: the level of the host's kernel; unknown: guests are not considered. */
enum who_world who_world_of_way(enum who_level kernel, const struct who_way *w);

/** Is @p symbol part of the code with which a hypervisor enters a guest? */
bool who_enters_guest(const char *symbol);

#endif
