/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_TEXT_IMPL_H
#define FORMAT_SCRIPT_SCRIPT_TEXT_IMPL_H

#include "format/script/script_parts.h"
#include "format/script/script_place.h"
#include "format/script/script_synth.h"
#include "format/script/script_text.h"
#include "isa/text/insn_text.h"

/* What is fixed for all samples of one event. */
struct script_evsel {
	uint64_t fields;
	struct escaped name;
	uint8_t type; /* enum script_type */
	bool has_chain, shows_addr_sym;
	bool is_branch;  /* from and to on one line */
	bool shows_addr; /* without being asked */
};

/** The text of a line's first columns, for the next line, which often begins alike. */
struct script_start {
	uint64_t fields;
	const char *comm;
	uint32_t pid, tid, cpu;
	bool has_chain;
	struct clew_perf_ns time;
	uint64_t second_ns;              /* when the time's second began */
	uint32_t second_bytes;           /* of its text */
	uint32_t task_bytes, time_bytes; /* 0: none is kept */
	char task[128], seconds[32];
};

/** Lines of repeated operations (ana_event.repeat): they differ in their times alone. */
struct script_repeats {
	struct script_repeat *all;  /* by id; NULL: not needed yet, or no memory */
	struct script_repeat *made; /* is being made; NULL: none */
	size_t from;                /* where its text begins in script_text.out */
};

/** The line of a step, without its first columns. */
struct script_step {
	uint32_t at; /* in script_steps.text */
	uint16_t bytes;
	uint16_t name_at, name_bytes; /* of script_add_callindent(), */
	uint8_t level;                /* and how far in, on top of the calls */
	bool has_column, has_name;    /* it was called; and had a name */
	uint8_t is;                   /* enum script_step_is */
};

struct script_steps {
	struct {
		VEC(struct script_step);
	} all; /* by number */
	struct buf text;
	struct script_step *made; /* its line is being made; NULL: none */
	size_t from;              /* where that begins in script_text.out */
};

struct script_text {
	struct script_start start;
	struct script_repeats repeats;
	struct script_steps steps;
	struct script_text_opts opts;
	struct script_fields fields; /* after the check */
	struct script_missing missing;
	struct perf_file *file;
	struct clew_sink sink;
	struct tracepoints *tracepoints;
	struct buf out, record;
	struct escape_memo names; /* of threads, events, symbols, files, cgroups */
	struct {
		VEC(struct script_evsel);
	} evsels; /* by perf_evsel.index */
	struct script_places flat[SCRIPT_NR_TYPES], chain[SCRIPT_NR_TYPES];
	size_t name_width;
	size_t indent_width;      /* of the calls' column so far */
	struct insn_text *disasm; /* NULL: not needed yet */
	size_t data_src_width;
	uint64_t epoch, nr_events, time_before;
	struct perf_clock_data clocks; /* for SCRIPT_TOD */
	enum script_arch arch;
	bool has_epoch, is_prepared;
};

/* --- script_text.c --- */

/** The events that are known by now. */
const struct perf_evlist *script_text_events(const struct script_text *t);
void script_add_sample(struct script_text *t, const struct ana_event *ev);

/** One line per place. */
void script_add_chain(struct script_text *t, const struct script_evsel *e,
		      const struct ana_chain *chain);

/* --- script_start.c --- */

/** The columns up to the time, which records and samples share. */
void script_add_start(struct script_text *t, const struct script_evsel *e,
		      const struct ana_event *ev, uint32_t pid, uint32_t tid, uint32_t cpu,
		      struct clew_perf_ns time);

/** Make .seconds and .time_bytes those of @p time. */
const struct script_start *script_set_time(struct script_text *t, struct clew_perf_ns time);

static inline void script_add_right(struct buf *b, const char *s, size_t size, size_t width)
{
	if (size < width)
		buf_fill(b, ' ', width - size);
	buf_add(b, s, size);
}

/* --- script_synth.c: what only events made of a hardware trace have --- */
/** The name of what a branch leads to, indented by the calls around it. */
void script_add_callindent(struct script_text *t, const struct script_evsel *e,
			   const struct ana_event *ev);
/** " ilen: 4 insn: 02 00 00 14", and the disassembly. */
void script_add_insn(struct script_text *t, const struct script_evsel *e,
		     const struct ana_event *ev);

/* --- script_repeats.c --- */
/** An event that stands for others. */
void script_add_repeat(struct script_text *t, const struct ana_event *ev);
/** The text of a time begins at @p at of the output. */
void script_repeats_mark(struct script_repeats *r, size_t at);
void script_repeats_done(struct script_repeats *r);

/* --- script_steps.c --- */
/** Lines of all steps of @p ev. @return of script_text_flush(). */
enum clew_err script_add_steps(struct script_text *t, const struct ana_batch *b,
			       const struct ana_event *ev);
/** Of the step that is being made: the name of what its branch is about is in the output from
 * @p from on. @p is_inner: one level further in. */
void script_steps_mark(struct script_text *t, size_t from, bool is_inner);
void script_steps_forget(struct script_steps *s);
void script_steps_done(struct script_steps *s);
/** script_synth.c: how wide the column of calls is with a name of @p nr bytes in it. */
size_t script_indent_width(struct script_text *t, size_t nr);
enum { SCRIPT_INDENT = 4 }; /* of a call */
enum { SCRIPT_FLUSH_BYTES = 256 * 1024 };

/** script_records.c: a record that is no sample, if it is to be shown. */
void script_add_record(struct script_text *t, const struct ana_event *ev);

#endif
