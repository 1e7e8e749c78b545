/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef WHO_WHO_WAY_H
#define WHO_WHO_WAY_H

#include "who/who_ran.h"

/*
 * Host or guest, of an instruction of a trace unit: by its level, and by how execution came there.
 *
 * Spec: ../shared/spec/attribution.md, sections 10.2 and 10.3.
 */

/** The exception return that led down from EL2. */
enum who_entry {
	WHO_ENTRY_UNKNOWN, /* none was seen, or its code has no symbol */
	WHO_ENTRY_OF_HOST,
	WHO_ENTRY_OF_GUEST, /* the hypervisor's, that enters guests */
};

struct who_way {
	enum who_level level;
	enum who_level upper; /* at EL0: the last one above it, without a gap; else as level */
	enum who_entry entry;
	enum who_world start; /* of a trace that begins at EL0: what is known of that code */
	bool has_vmid;        /* a VMID, of VTTBR_EL2 */
	uint32_t vmid;
};

/** @p kernel: the level at which the host's kernel runs; unknown: as if there were no guests. */
enum who_world who_world_of_way(enum who_level kernel, const struct who_way *w);

/** Is @p symbol of the code by which a hypervisor enters a guest? */
bool who_enters_guest(const char *symbol);

#endif
