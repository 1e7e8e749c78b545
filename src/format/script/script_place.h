/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_PLACE_H
#define FORMAT_SCRIPT_SCRIPT_PLACE_H

#include "analyze/analyze.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/vec.h"

/*
 * Locations as text. A recording has far fewer places than samples, so each place's text is made
 * once an epoch and copied from then on. Zeroed struct = empty cache.
 */

/** How a place is written; all places of one cache the same way. */
struct script_place_style {
	uint64_t fields;   /* SCRIPT_IP, SYM, SYMOFF, DSO, DSOFF, SRCLINE count */
	bool is_chain;     /* one line each, with its tab and newline; else a line's last columns */
	bool has_inlines;  /* chain: a line for each inlined function too */
	bool is_full_path; /* of source files */
	bool has_kernel_path;      /* the kernel by the file its symbols are from */
	struct escape_memo *names; /* of text: names are printed through it */
};

struct script_place {
	uint32_t at, len; /* in the text; len 0: not made yet */
};

struct script_places {
	struct buf text;
	struct {
		VEC(struct script_place);
	} of_loc;
};

enum { SCRIPT_PLACES_MAX_BYTES = 32 << 20 };

/** Appends the text of a place. */
typedef void script_place_make(struct buf *b, const struct script_place_style *style,
			       const struct ana_loc *loc);

/** As perf script writes it. */
void script_place_text(struct buf *b, const struct script_place_style *style,
		       const struct ana_loc *loc);

/** Append @p loc's text; @p make is called for the first time only. O(its length) from then on. */
void script_places_add(struct script_places *p, script_place_make *make,
		       const struct script_place_style *style, const struct ana_loc *loc,
		       struct buf *out);

/** A new epoch: location ids start over. */
void script_places_forget(struct script_places *p);
void script_places_done(struct script_places *p);

/** " sym+0x12": the parts after an address, without cache. */
void script_add_sym(struct buf *b, const struct script_place_style *style,
		    const struct ana_loc *loc, bool has_offset);
/** "(/usr/bin/ls)"; @p style: of SCRIPT_DSOFF and has_kernel_path. */
void script_add_dso(struct buf *b, const struct script_place_style *style,
		    const struct ana_loc *loc);

/** Is a sample at @p loc (NULL: unknown) in both comma lists? NULL: all are. */
bool script_keeps(const char *symbols, const char *dsos, const struct ana_loc *loc);

#endif
