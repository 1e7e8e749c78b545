/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ROWS_REPORT_SORT_H
#define ROWS_REPORT_SORT_H

#include <stdbool.h>
#include <stddef.h>

#include <clew/err.h>

/** What a report's rows are made of: first properties of a sample, then those of a frame.
 */
enum report_key {
	REPORT_COMM,
	REPORT_PID,
	REPORT_TID,
	REPORT_CPU,
	REPORT_CGROUP,
	REPORT_CGROUP_ID,
	REPORT_WEIGHT,
	REPORT_NAMESPACE, /* of who ran, from here on */
	REPORT_CONTAINER,
	REPORT_MACHINE,
	REPORT_VCPU,
	REPORT_LEVEL,
	REPORT_EVIDENCE,
	REPORT_SYM_FROM, /* of a branch, from here on */
	REPORT_SYM_TO,
	REPORT_DSO_FROM,
	REPORT_DSO_TO,
	REPORT_SRCLINE_FROM,
	REPORT_SRCLINE_TO,
	REPORT_MISPREDICT,
	REPORT_CYCLES,
	REPORT_ABORT,
	REPORT_IN_TX,
	REPORT_DSO, /* of a frame, from here on */
	REPORT_SYM,
	REPORT_SRCLINE,
	REPORT_SRCFILE,
	REPORT_NR_KEYS
};

static inline bool report_key_is_frame(enum report_key k)
{
	return k >= REPORT_DSO;
}

static inline bool report_key_is_branch(enum report_key k)
{
	return k >= REPORT_SYM_FROM && k < REPORT_DSO;
}

/** A text made of who ran. */
static inline bool report_key_is_who(enum report_key k)
{
	return k >= REPORT_NAMESPACE && k <= REPORT_EVIDENCE;
}

/** Where a branch comes from or goes to. */
static inline bool report_key_is_end(enum report_key k)
{
	return k >= REPORT_SYM_FROM && k <= REPORT_SRCLINE_TO;
}

/** Yes, no, or unknown. */
static inline bool report_key_is_yes_no(enum report_key k)
{
	return k == REPORT_MISPREDICT || k == REPORT_ABORT || k == REPORT_IN_TX;
}

/** Is its value a text of the sample? */
static inline bool report_key_is_text(enum report_key k)
{
	return k == REPORT_COMM || k == REPORT_CGROUP || report_key_is_who(k);
}

struct report_sort {
	enum report_key keys[REPORT_NR_KEYS];
	size_t nr;
};

/**
 * Parse "comm,dso,sym" in perf's spellings (symbol, pid, ...); "+key" adds to what *ret holds. No
 * key twice. On failure *ret_bad, @p ret_len is the unknown word.
 */
enum clew_err report_sort_parse(struct report_sort *ret, const char *text, const char **ret_bad,
				size_t *ret_len);

/** Is it a key that only perf has? */
bool report_sort_is_perf_key(const char *word, size_t len);

bool report_sort_has(const struct report_sort *s, enum report_key k);
/** The keys that name a row where its name is searched: of functions that alone, or else all. */
const struct report_sort *report_sort_name(const struct report_sort *s);

/** The first key of branches, or REPORT_NR_KEYS. */
enum report_key report_sort_branch_key(const struct report_sort *s);

/** Keys that only the rule of who ran has values for. */
bool report_sort_has_who(const struct report_sort *s);
/** Is a source line or file among the keys? */
bool report_sort_has_lines(const struct report_sort *s);

/** Those of @p more that @p s has not, at its end. */
void report_sort_add(struct report_sort *s, const struct report_sort *more);

/** Its column's title, as perf's: "Shared Object"; and its name for --sort and JSON: "dso". */
const char *report_key_title(enum report_key k);
const char *report_key_name(enum report_key k);

/** All names, comma-separated. */
const char *report_sort_names(void);

#endif
