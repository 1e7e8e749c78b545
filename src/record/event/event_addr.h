/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_EVENT_EVENT_ADDR_H
#define RECORD_EVENT_EVENT_ADDR_H

#include "record/event/event_spell.h"

/*
 * Address filters of a hardware trace, as perf spells them:
 *
 *   filters = filter (("," | blank) filter)*
 *   filter  = ("filter" | "start" | "stop" | "tracestop") place ["/" place] ["@" file]
 *   place   = number | symbol ["#" (number | "g")] | "*"
 *
 * The place after the slash is a size, or the symbol with which the range ends. Blanks end a
 * symbol. Without a file the addresses are the kernel's. The kernel itself takes neither symbols
 * nor blanks nor tracestop.
 * Spec: man perf-record, --filter; Linux 7.3 kernel/events/core.c, "perf_event_parse_addr_filter".
 */

enum addr_action { ADDR_FILTER, ADDR_START, ADDR_STOP, ADDR_TRACESTOP };

/** Which of several symbols of a name. */
enum { ADDR_ONLY = -1, ADDR_GLOBAL = 0 /* else its number, from 1, by address */ };

struct addr_place {
	struct event_word symbol; /* n 0: a number */
	uint64_t number;
	int64_t nth;
};

struct addr_filter {
	enum addr_action action;
	struct event_word word; /* the action, as spelled */
	struct addr_place start, end;
	bool has_end;           /* end: a size where it is a number */
	bool is_whole;          /* start is "*": all of the file's code, or the kernel's */
	struct event_word file; /* n 0: the kernel */
	/* What the kernel gets. */
	const char *path; /* NULL: the kernel */
	uint64_t from, bytes;
};

struct addr_filters {
	VEC(struct addr_filter);
};

/** Append what @p p->text names. @return a code with a sentence. */
enum clew_err event_addr_parse(struct event_parse *p, struct addr_filters *l);

/** Where symbols are. @p what: of what, for messages. */
struct addr_symbol {
	uint64_t start, end;
	bool is_global;
};

struct addr_symbols {
	VEC(struct addr_symbol);
};

/** Choose by @p place among those of its name, sorted by address. */
enum clew_err event_addr_choose(struct event_parse *p, const struct addr_place *place,
				struct addr_symbols *l, const char *what, struct addr_symbol *ret);

/** Fill path, from and bytes. @p note: a message of what was changed; may stay NULL. */
enum clew_err event_addr_resolve(struct event_parse *p, struct addr_filter *f, const char **note);

/* The same in a program or library, and in the kernel. */
enum clew_err event_addr_in_file(struct event_parse *p, struct addr_filter *f, const char **note);
enum clew_err event_addr_in_kernel(struct event_parse *p, struct addr_filter *f);

/** A range is complete: it ends at @p end. */
enum clew_err event_addr_end_at(struct event_parse *p, struct addr_filter *f, uint64_t end);

/** Find the symbol that @p place names, in @p ctx. */
typedef enum clew_err addr_look_up(void *ctx, const struct addr_place *place,
				   struct addr_symbol *ret);

/** Where @p f begins and how long it is, unless it is "*". */
enum clew_err event_addr_range(struct event_parse *p, struct addr_filter *f, addr_look_up *look_up,
			       void *ctx);

/** --filter of the trace @p e: adds to what it has. @p p->text: as given. */
enum clew_err event_addr_filter(struct event_parse *p, struct rec_event *e);

#endif
