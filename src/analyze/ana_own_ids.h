/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANA_OWN_IDS_H
#define ANALYZE_ANA_OWN_IDS_H

#include "analyze/analyze.h"
#include "who/who_own.h"

struct who_thread;

/**
 * Who a sample with the id 0 is of, by what it says itself and @p f: the kernel gives 0 to the idle
 * task and to all tasks that the recorder's PID namespace does not contain. NULL: its ids count.
 */
const struct who_answer *ana_answer_of_sample(const struct perf_who_facts *f,
					      const struct perf_sample *s,
					      const struct ana_loc *loc);

/** Does @p s prove that user code ran, of the host or a guest? */
bool ana_is_user_code(const struct perf_sample *s);

/** With wants_who: of any sample, into @p e and the counts. @p t: its thread. CLEW_OK,
 * CLEW_NO_MEMORY. */
enum clew_err ana_ask_sample(struct analyze *a, const struct perf_sample *s,
			     const struct who_thread *t, uint32_t machine, struct ana_event *e);
/** With wants_who: a record of who_on_takes(). */
enum clew_err ana_take_switch(struct analyze *a, const struct perf_record *r,
			      struct clew_perf_ns time);

/** The same of any other record that is about id 0. WHO_TASK: its name counts. */
enum who_kind ana_kind_of_record(const struct perf_who_facts *f, const struct perf_record *r);

/** In place of a thread's name. Static. */
const char *ana_name_of_kind(enum who_kind kind);

/** Is it a function in which the kernel waits while a CPU is idle? */
bool ana_is_idle_function(const char *name);

/** Idle or outside: idle where @p loc is in such a function. */
void ana_settle_idle(struct who_answer *a, const struct ana_loc *loc);

#endif
