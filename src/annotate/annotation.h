/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANNOTATE_ANNOTATION_H
#define ANNOTATE_ANNOTATION_H

#include "annotate/ann_counts.h"
#include "base/buf.h"
#include "isa/insn.h"
#include "isa/text/insn_text.h"
#include "report/code_counts.h"

/* One function: its instructions in order of address, what each weighs, and its source line. */

enum { ANN_NONE = UINT32_MAX };

struct ann_insn {
	uint64_t rel;              /* image/dso.h */
	uint64_t address;          /* as linked, or rel where that is unknown */
	uint32_t text, text_bytes; /* in annotation.text; 0 bytes: the code is unknown */
	uint32_t line;             /* of annotation.lines; ANN_NONE: unknown */
	uint32_t target;           /* of a jump inside the function: its instruction; ANN_NONE */
	uint8_t bytes;             /* 0: the code is unknown */
	uint8_t kind, flags;       /* enum insn_kind, INSN_LINK, ... */
	const char *callee; /* of a direct branch to elsewhere: the function there; or NULL */
	uint64_t callee_offset;
	uint64_t executed, taken, mispredicted; /* with flow */
	/* With has_cycles: of executions with known cycles, how many, and their cycles: of the
	 * instruction, which has an equal share of its run's; and of runs that end here. */
	uint64_t nr_timed, cycles; /* times CODE_CYCLE, as all cycles here */
	uint64_t nr_runs_timed, run_cycles;
	uint64_t run_insns; /* in these runs */
};

/** A call that was inlined: of what, and where. */
struct ann_inline {
	const char *function, *file; /* NULL: unknown */
	uint32_t line;
};

struct ann_line {
	const char *file; /* NULL: unknown */
	uint32_t line;
	uint32_t first_inline, nr_inlines; /* innermost first */
	const char *text;                  /* of the source, borrowed; NULL: not found */
	uint32_t text_bytes;
};

/** One column. */
struct ann_column {
	const char *name;
	uint32_t event;   /* ann_cell.event; ANN_NONE: is_executed */
	uint8_t precise;  /* precise_ip */
	bool may_skid;    /* an address may be of an instruction after the one that counted */
	bool is_executed; /* weights count how often each ran, not samples */
	struct ann_weight weight; /* of the function */
};

enum ann_flow {
	ANN_FLOW_NONE,
	ANN_FLOW_SAMPLED,
	ANN_FLOW_EXACT,
	ANN_FLOW_BRANCHES, /* sampled, and of taken branches alone: executed is unknown */
};

/** Zeroed struct = empty. Texts of dso and sym live as long as the store. */
struct annotation {
	const struct dso *of; /* that dso names */
	const char *symbol, *dso;
	struct dso_build_id build_id; /* size 0: unknown */
	const char *why;              /* no code is known: static words; NULL: it is */
	bool is_linked;               /* addresses are those of the linked file */
	enum ann_flow flow;           /* where executed and taken come from */
	bool has_cycles;              /* of some instruction */
	struct {
		VEC(struct ann_insn);
	} insns;
	struct {
		VEC(struct ann_line);
	} lines;
	struct {
		VEC(struct ann_inline);
	} inlines;
	struct {
		VEC(struct ann_column);
	} columns;
	struct ann_weight *weights; /* by instruction, then column */
	struct buf text;
};

struct annotation_opts {
	struct dso_store *dsos; /* the analysis's */
	struct insn_text *text; /* NULL: no assembler text, so bytes alone */
	uint16_t machine;       /* EM_, of code that does not say; 0: unknown */
	bool no_lines;
};

/**
 * The function @p s for the events @p events, @p nr_events of them. Opens files: when nothing else
 * uses the dsos. @return CLEW_OK; CLEW_NO_MEMORY.
 */
enum clew_err annotation_make(struct annotation *a, const struct ann_counts *c,
			      const struct ann_symbol *s, const uint32_t *events, size_t nr_events,
			      const struct annotation_opts *opts);
void annotation_done(struct annotation *a);

static inline const struct ann_weight *annotation_weight(const struct annotation *a, size_t insn,
							 size_t column)
{
	return &a->weights[insn * a->columns.nr + column];
}

/* Averages; 0: unknown. */

/** Cycles of an execution of @p n. */
double ann_insn_cycles(const struct ann_insn *n);
/** Cycles of a run that ends with @p n, from the branch before. */
double ann_run_cycles(const struct ann_insn *n);
/** Instructions per cycle of these runs. */
double ann_run_ipc(const struct ann_insn *n);

/** Add to executed, taken, mispredicted and cycles of each instruction. @p c: of its file, in
 * order; @p is_linked: with linked addresses. @return false when memory is short. */
bool annotation_add_flow(struct annotation *a, const struct code_counts *c, bool is_linked,
			 enum ann_flow flow);

/** Of an annotation without columns: make one of executed. @return false when memory is short. */
bool annotation_weigh_executed(struct annotation *a);

#endif
