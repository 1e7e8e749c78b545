/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_EVENT_EVENT_SPELL_H
#define RECORD_EVENT_EVENT_SPELL_H

#include <string.h>

#include <clew/err.h>

#include "base/attributes.h"
#include "base/near_name.h"
#include "os/perf/pmu.h"
#include "record/plan/event_list.h"

/*
 * The parser of -e, shared by the event_*.c files. Grammar, without recursion:
 *
 *   list     = item ("," item)*
 *   item     = [name] "{" event ("," event)* "}" [":" modifiers] | event
 *   event    = ( word | number ":" number | "r" hex )  [ "/" terms "/" modifiers | ":" modifiers ]
 *            | pmu "/" terms "/" [":"] modifiers
 *            | system ":" name    (both with * ? [])    ...
 *            | "mem:" address ["/" length] [":" access] ...
 *            | ("uprobe" | "uretprobe") ":" path ":" symbol ["+" offset] ...
 *            | ("kprobe" | "kretprobe") ":" symbol ["+" offset] ...
 */

struct event_word {
	const char *s; /* borrowed, not NUL-terminated */
	size_t n;
};

struct event_parse {
	struct rec_event_list *list;
	struct rec_error *error; /* NULL: not wanted */
	const char *text, *pos;  /* the argument, and how far it is read */
	const char *start;       /* of the event being read: its name starts here */
	size_t first;            /* number of the first event this argument added */
	size_t first_here;       /* and of the first that the event being read added */
	bool is_in_group;
	struct event_word spread; /* generic name of which each core PMU has an event; n 0: none */
	struct os_pmus pmus;      /* read when first asked for */
	bool has_pmus;
};

/** Refuse the text at @p at: fills the error and returns @p code. */
CLEW_COLD enum clew_err event_fail(struct event_parse *p, const char *at, enum clew_err code,
				   const char *format, ...) CLEW_PRINTF(4, 5);

CLEW_COLD enum clew_err event_no_memory(struct event_parse *p);

static inline bool event_word_is(struct event_word w, const char *s)
{
	return strlen(s) == w.n && !memcmp(s, w.s, w.n);
}

/** Take the characters up to the first one in @p stops (or the end). May be empty. */
struct event_word event_take_until(struct event_parse *p, const char *stops);

/** The same of a function's name, in which stops in brackets and "::" do not count. */
struct event_word event_take_symbol(struct event_parse *p, const char *stops);

/** Decimal, or hexadecimal after 0x; all of @p w. */
bool event_word_number(struct event_word w, uint64_t *ret);

/** Hexadecimal without 0x; all of @p w. */
bool event_word_hex(struct event_word w, uint64_t *ret);

/** As event_word_number(), with a suffix K, M or G (powers of 1024). */
bool event_word_size(struct event_word w, uint64_t *ret);

/** A new event with perf's defaults (the host only), a group of its own; NULL: no memory. Events
 * move when one is added. */
struct rec_event *event_add(struct event_parse *p, uint32_t type, uint64_t config);

/** Copy into the list's memory; on failure NULL. */
char *event_copy(struct event_parse *p, const char *s, size_t n);

/** The PMUs; NULL where sysfs has none. */
struct os_pmus *event_pmus(struct event_parse *p);

/* --- event_table.c: events every machine names alike --- */

struct event_known {
	const char *name, *alias; /* alias: NULL where it has none */
	uint64_t config;
};

/** Ends with a NULL name. */
extern const struct event_known event_hardware[], event_software[];

/** @return whether @p w is a hardware, software or cache event. */
bool event_known_find(struct event_word w, uint32_t *type, uint64_t *config);

/** The name of cache event number @p n as perf lists them; false: no more. */
bool event_cache_name(size_t n, char *ret, size_t size);

/* --- event_term.c, event_modifier.c, event_pmu.c, event_trace.c, event_filter.c, event_point.c ---
 */

/** "/terms/" after anything but a PMU; @p p->pos is after the first '/'. Applies to the events
 * from first_here on. @p takes_config: config=, config1= ... are allowed too. */
enum clew_err event_parse_terms(struct event_parse *p, bool takes_config);

/** One term every event takes: "period=1000". CLEW_NOT_FOUND without a message: no such term. */
enum clew_err event_apply_term(struct event_parse *p, struct event_word name,
			       struct event_word value, bool takes_config);

/** One "name[=value]" and the comma after it, up to the closing slash; value.s NULL: none given.
 */
enum clew_err event_next_term(struct event_parse *p, struct event_word *name,
			      struct event_word *value);

/** Names of the terms above, with commas. */
const char *event_term_names(bool takes_config);

/** Take modifier letters and apply them to the events [from, to). Those given to a group are added
 * to what each event has (@p is_group). */
enum clew_err event_parse_modifiers(struct event_parse *p, size_t from, size_t to, bool is_group);

/** Are all characters of @p w modifier letters? */
bool event_is_modifiers(struct event_word w);

/** "pmu/terms/": @p name is taken, p->pos is after the first '/'. */
enum clew_err event_parse_pmu(struct event_parse *p, struct event_word name);

/** A generic hardware event: one, or on machines with several kinds of cores one for each, outside
 * of groups. */
enum clew_err event_add_generic(struct event_parse *p, struct event_word name, uint32_t type,
				uint64_t config);

/** An event some PMU names, without the PMU: "mem-loads". CLEW_NOT_FOUND without a message: none.
 */
enum clew_err event_parse_pmu_alias(struct event_parse *p, struct event_word name);

/** "sys:name" with globs. */
enum clew_err event_parse_tracepoint(struct event_parse *p, struct event_word system,
				     struct event_word name);

/** Does --filter @p text fit the tracepoint @p e, as far as can be seen without the kernel? */
enum clew_err event_check_filter(struct event_parse *p, const struct rec_event *e,
				 const char *text);

/** The rest after "mem:". */
enum clew_err event_parse_breakpoint(struct event_parse *p);

/** The rest after "uprobe:" and so on. */
enum clew_err event_parse_probe(struct event_parse *p, const char *pmu, bool is_return);

/** Where in the file @p path the function @p symbol starts, as uprobes count: bytes from the file's
 * beginning. */
enum clew_err event_symbol_offset(struct event_parse *p, const char *path, struct event_word symbol,
				  uint64_t *ret);

/* --- event_learn.c, event_group.c --- */

/** Is @p e, of a PMU that we do not know by name, a trace? Not asked in a test's sysfs. */
void event_learn_aux(const struct event_parse *p, const struct os_pmu *pmu, struct rec_event *e);

/** Events that act on a trace join the group of the last trace before them. */
void event_group_with_aux(struct rec_event_list *list);

/* --- event_suggest.c --- */

/** The nearest of a series of names to a misspelt word. */
struct event_guess {
	struct near_name near;
};

void event_guess_start(struct event_guess *g, struct event_word word);
void event_guess_try(struct event_guess *g, const char *name);

/** "; did you mean 'cycles'?", or "" when nothing is near. @return @p ret. */
const char *event_guess_text(const struct event_guess *g, char *ret, size_t size);

#endif
