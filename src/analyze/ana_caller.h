/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_CALLER_H
#define ANALYZE_ANA_CALLER_H

#include "analyze/ana_places.h"
#include "analyze/analyze.h"

/*
 * Which instruction an address of a chain is of. What a call returns to belongs to the call, which
 * may be the last instruction of its function, of what was inlined, or of its mapping: symbol and
 * lines are those of the byte before. docs/decisions/callers.md
 */

/** What is known of an address by where it stands in its chain. */
enum ana_arrival {
	ANA_AT,          /* the instruction itself: sampled, interrupted, the end of a branch */
	ANA_AFTER_CALL,  /* a caller's: where its call returns to, unless something shows that none
			    led there */
	ANA_AFTER_ENTRY, /* of user mode, below the kernel's frames: interrupted, or after a system
			    call */
	ANA_NR_ARRIVALS
};

/** Where an address lies. */
struct ana_site {
	struct ana_place *place;   /* NULL: no known mapping */
	const struct who_map *map; /* NULL: none; with a place it is the kernel's */
	struct ana_spot at;        /* with a place */
	const struct dso_sym *sym; /* NULL: none, or */
	bool has_sym;              /* not asked for yet */
	bool is_failed;            /* memory is short */
};

/** Found once. */
const struct dso_sym *ana_site_symbol(struct ana_site *s);

/**
 * Does what is before @p at's address lead there? @p before: of the address before. Where a symbol
 * covers both, as nearly always, no code is looked at.
 * @p arrival: not ANA_AT.
 */
bool ana_is_after(struct ana_site *before, struct ana_site *at, enum ana_arrival arrival,
		  bool no_symbols);

/** Code of the kernel that an exception or interrupt enters: the next frame is the place that it
 * interrupted. */
bool ana_is_exception_entry(const struct dso_sym *sym);

#endif
