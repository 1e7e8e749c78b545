/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef ANALYZE_ANALYZE_H
#define ANALYZE_ANALYZE_H

#include <clew/err.h>
#include <clew/time.h>

#include "image/dso.h"
#include "perfdata/perf_file.h"
#include "perfdata/perf_order.h"
#include "stitch/stitch_outcome.h"
#include "unwind/unw_rule.h"
#include "who/who_ran.h"

/*
 * The pipeline: read, put into time order, attribute to threads, resolve addresses; then hand
 * events over in batches to one consumer (a report, a writer), which runs on a thread of its own
 * where there are two CPUs. What the consumer sees, and its order, do not depend on that.
 */

/** Which level of the machine an address belongs to; from the record's cpumode or a call chain's
 * marks. */
enum ana_level {
	ANA_UNKNOWN,
	ANA_USER,
	ANA_KERNEL,
	ANA_HYPERVISOR,
	ANA_GUEST_USER,
	ANA_GUEST_KERNEL,
	ANA_COOKIE /* no address: what names a deferred stack, with no_merge */
};

/** What is at an address that a branch is said to come from. */
enum ana_source {
	ANA_SOURCE_NOT_ASKED,
	ANA_SOURCE_UNKNOWN, /* its code is not at hand */
	ANA_SOURCE_BRANCH,
	ANA_SOURCE_OTHER /* no branch begins there */
};

/** A resolved code address. */
struct ana_loc {
	uint64_t ip;           /* as recorded */
	uint64_t rel;          /* address in dso's terms (image/dso.h); ip where dso is NULL */
	const struct dso *dso; /* NULL: no mapping known at this time covers ip */
	const struct dso_sym
		*sym; /* NULL: none covers it; offset in the symbol = rel - sym->start */
	const struct dso_line *lines; /* with wants_lines: innermost inlined function first */
	uint32_t nr_lines;
	uint32_t id;    /* dense from 0 within an epoch */
	uint8_t level;  /* enum ana_level */
	bool is_return; /* ip is where a call returns to: sym and lines are those of the call */
	bool is_entry;  /* of a kernel's exceptions: the next frame of a chain was interrupted */
	uint8_t source; /* enum ana_source; of branches' sources, with ana_opts.source_of */
};

/** The address in the binary, as it is shown: of code made at run time the recorded one. */
static inline uint64_t ana_loc_address(const struct ana_loc *l)
{
	return l->dso && dso_kind(l->dso) == DSO_JIT ? l->ip : l->rel;
}

/** A call chain without its marks, the sampled (innermost) address first. Equal chains of an epoch
 * are one object. */
struct ana_chain {
	uint32_t id; /* dense from 0 within an epoch */
	uint32_t nr;
	bool is_broken; /* an undefined mark followed locs: the rest means nothing */
	const struct ana_loc *locs[];
};

/** How execution continued at an event of a hardware trace: perf's PERF_IP_FLAG_ bits, and above
 * them our own. */
enum {
	ANA_FLOW_BRANCH = 1 << 0,
	ANA_FLOW_CALL = 1 << 1,
	ANA_FLOW_RETURN = 1 << 2,
	ANA_FLOW_COND = 1 << 3,
	ANA_FLOW_SYSCALL = 1 << 4, /* with CALL; with RETURN the way back */
	ANA_FLOW_ASYNC = 1 << 5,
	ANA_FLOW_INTERRUPT = 1 << 6, /* with CALL: any exception; with RETURN the way back */
	ANA_FLOW_TX_ABORT = 1 << 7,
	ANA_FLOW_TRACE_BEGIN = 1 << 8,
	ANA_FLOW_TRACE_END = 1 << 9,
	ANA_FLOW_IN_TX = 1 << 10,
	ANA_FLOW_VM_ENTRY = 1 << 11,
	ANA_FLOW_VM_EXIT = 1 << 12,
	ANA_FLOW_NO_INTR = 1 << 13,   /* interrupts were off before it */
	ANA_FLOW_INTR_FLIP = 1 << 14, /* and on after it, or the other way round */
	ANA_FLOW_MISS = 1 << 17,      /* mispredicted */
	ANA_FLOW_NOT_TAKEN = 1 << 18, /* with COND */
	ANA_FLOW_OP_IN_TX = 1 << 19,  /* of a sampled operation: IN_TX */
	ANA_FLOW_INDIRECT = 1 << 16,  /* neither call nor return, its target in a register */
};

/** As enum isa. */
enum ana_isa { ANA_A64, ANA_A32, ANA_T32, ANA_X86_64, ANA_X86_32, ANA_X86_16, ANA_NR_ISAS };

/** What Intel PT reports besides execution, as perf numbers its events.
 * Spec: tools/perf/util/event.h, enum perf_synth_id (Linux 6.1). */
enum ana_note_kind {
	ANA_NOTE_PTWRITE,
	ANA_NOTE_MWAIT,
	ANA_NOTE_PWRE,
	ANA_NOTE_EXSTOP,
	ANA_NOTE_PWRX,
	ANA_NOTE_CBR,
	ANA_NOTE_PSB,
	ANA_NOTE_EVT,
	ANA_NOTE_IFLAG,
	ANA_NR_NOTES
};

/** Of an event that was traced: what the processor knew of it. */
struct ana_evd {
	uint64_t payload;
	uint8_t type;
};

struct ana_note {
	uint8_t kind; /* enum ana_note_kind */
	bool has_ip;  /* PTWRITE, EXSTOP, EVT: the trace says at which instruction */
	union {
		uint64_t payload; /* PTWRITE */
		uint64_t offset;  /* PSB: in the unit's trace */
		struct {
			uint32_t hints, extensions;
		} mwait;
		struct {
			uint8_t state, sub_state;
			bool is_hw;
		} pwre;
		struct {
			uint8_t deepest, last, reason;
		} pwrx;
		struct {
			uint8_t ratio, max_ratio; /* max_ratio: of the TSC; 0: unknown */
			uint32_t khz;             /* 0: unknown */
		} cbr;
		struct {
			uint8_t type, vector, nr_evds;
			const struct ana_evd *evds; /* valid as the event's sample */
		} evt;
		struct {
			bool is_on, is_by_branch; /* EFLAGS.IF, from now on */
		} iflag;
	};
};

/** What only events made from a hardware trace have. */
struct ana_synth {
	uint32_t flow;                /* ANA_FLOW_ */
	uint32_t depth;               /* of calls around it; with trace_events_opts.wants_depth */
	uint8_t isa;                  /* enum ana_isa of insn */
	uint8_t insn_bytes;           /* 0: not wanted, or nothing was executed */
	uint8_t insn[15];             /* at sample->ip */
	uint64_t nr_insns, nr_cycles; /* since the last event with them; cycles 0: not counted */
	const char *error;     /* of an event without sample: what went wrong, static words */
	const char *error_why; /* static words; NULL: nothing more is known */
	uint32_t error_code;
	uint64_t error_ip;           /* 0: unknown */
	const struct ana_note *note; /* NULL: it is an instruction or a branch */
	uint32_t window;             /* of format/script/script_around.h; 0: none */
	bool is_paused; /* it ran outside of every interval of tracing, ana_tracing.h */
};

/** What a sampled operation was. */
enum ana_op_kind {
	ANA_OP_OTHER, /* data processing; with ANA_OP_HAS_KIND */
	ANA_OP_LOAD,
	ANA_OP_STORE,
	ANA_OP_BRANCH,
	ANA_NR_OPS
};

/** Parts of ana_op that were reported. What was not is 0, and means nothing. */
enum {
	ANA_OP_HAS_KIND = 1 << 0,
	ANA_OP_HAS_PC = 1 << 1,
	ANA_OP_HAS_TARGET = 1 << 2,
	ANA_OP_HAS_VA = 1 << 3,
	ANA_OP_HAS_PA = 1 << 4,
	ANA_OP_HAS_PREV_TARGET = 1 << 5,
	ANA_OP_HAS_TOTAL = 1 << 6,
	ANA_OP_HAS_ISSUE = 1 << 7,
	ANA_OP_HAS_XLAT = 1 << 8,
	ANA_OP_HAS_EVENTS = 1 << 9,
	ANA_OP_HAS_SOURCE = 1 << 10,
	ANA_OP_HAS_CONTEXT_EL1 = 1 << 11,
	ANA_OP_HAS_CONTEXT_EL2 = 1 << 12,
	ANA_OP_HAS_TIME = 1 << 13,
	/* Counters at their maximum: at least that much. */
	ANA_OP_TOTAL_IS_MIN = 1 << 16,
	ANA_OP_ISSUE_IS_MIN = 1 << 17,
	ANA_OP_XLAT_IS_MIN = 1 << 18,
};

enum { ANA_OP_NR_OTHER = 2, ANA_OP_OTHER_IS_ADDRESS = 1 << 7 /* in ana_op.other_index */ };

/** Events of an operation, as SPE numbers them: bits of ana_op.events. */
enum {
	ANA_OP_EXCEPTION = 1 << 0,
	ANA_OP_RETIRED = 1 << 1,
	ANA_OP_L1D_ACCESS = 1 << 2,
	ANA_OP_L1D_MISS = 1 << 3,
	ANA_OP_TLB_ACCESS = 1 << 4,
	ANA_OP_TLB_WALK = 1 << 5,
	ANA_OP_NOT_TAKEN = 1 << 6,
	ANA_OP_MISPREDICTED = 1 << 7,
	ANA_OP_LLC_ACCESS = 1 << 8,
	ANA_OP_LLC_MISS = 1 << 9,
	ANA_OP_REMOTE = 1 << 10,
	ANA_OP_UNALIGNED = 1 << 11,
	ANA_OP_TRANSACTION = 1 << 16,
	ANA_OP_L2D_ACCESS = 1 << 19,
	ANA_OP_L2D_MISS = 1 << 20,
	ANA_OP_HITM = 1 << 21,
	ANA_OP_LFB = 1 << 22,
	ANA_OP_SNOOPED = 1 << 23,
};

/** One sampled operation: what the hardware reported of it, each of them once. Spec: Arm ARM
 * (DDI 0487), "The Statistical Profiling Extension"; perf's mem_data_src. */
struct ana_op {
	uint32_t has;                  /* ANA_OP_HAS_ and _IS_MIN */
	uint8_t kind;                  /* enum ana_op_kind */
	uint8_t op_class, op;          /* the operation packet as it was: class, payload */
	uint8_t level;                 /* 0-3: the exception level it ran at; with HAS_PC */
	uint8_t security;              /* enum arm_security of the same */
	uint8_t target_level;          /* with HAS_TARGET */
	uint8_t events_bits;           /* how many of .events are reported: 8, 16, 32, 64 */
	uint8_t tag, pat, pa_security; /* of .va: its top byte; of .pa */
	bool is_tag_checked;
	uint16_t total, issue, xlat; /* latencies in cycles */
	uint64_t events;             /* ANA_OP_EXCEPTION, ... */
	uint64_t data_src;           /* as PERF_SAMPLE_DATA_SRC; 0: neither load nor store */
	uint64_t target, prev_target, va, pa;
	uint64_t source;         /* data source as the core numbers it */
	const char *source_name; /* static words; NULL: unknown for this core */
	uint32_t context_el1, context_el2;
	uint64_t ticks;      /* with HAS_TIME: the counter */
	uint64_t aux_offset; /* of the record, in the buffer it was written to */
	uint32_t aux_cpu;    /* of that buffer; all ones: a thread's */
	/* Reserved counters, and addresses (index with ANA_OP_OTHER_IS_ADDRESS): the first ones. */
	uint8_t nr_other, other_index[ANA_OP_NR_OTHER];
	uint64_t other[ANA_OP_NR_OTHER];
};

/** One event in time order: a sample, or with wants_records any other record. */
struct ana_event {
	struct perf_record record;        /* the bytes; live until the batch callback returns */
	const struct perf_evsel *evsel;   /* NULL for tool records */
	const struct perf_sample *sample; /* NULL: not a sample */
	struct clew_perf_ns time;
	uint64_t period;        /* the sample's, else the attr's fixed one, else 1 */
	uint32_t pid, tid, cpu; /* all ones: unknown */
	uint32_t machine, vcpu; /* that a guest's own record is of: pid of its host process; vcpu:
				   all ones: unknown. 0: the host's */
	const char *comm; /* the thread's name then; ":TID" when unknown. Of other records: the
			     thread they are about. Lives as long as the analysis */
	const struct ana_loc *loc;     /* of sample->ip; NULL: not sampled */
	const struct ana_loc *addr;    /* of sample->addr, with wants_addr; NULL: no addr */
	const struct ana_chain *chain; /* NULL: no call chain in this sample */
	const char *cgroup;            /* path; NULL: not recorded. Lives as long as the analysis */
	const struct ana_loc *const
		*branches;             /* with wants_branches: from, to of each branch entry */
	const struct ana_synth *synth; /* made from a hardware trace; NULL: recorded */
	const struct ana_op *op;       /* a sampled operation; NULL: none */
	uint64_t nr_more; /* events like it that it stands for, too; with trace_events_opts.fold */
	const struct who_answer *who; /* NULL: nothing but the record's own ids was asked; of
					 samples, with wants_who or without a thread */
	/* The chain's user part was unwound from the copied stack (REGS_USER and STACK_USER): how
	 * that ended, enum unw_stop; UNW_STOP_NONE: there was nothing to unwind. */
	uint8_t unwind_stop;
	bool unwind_has_fp; /* some of its frames were found by frame pointer alone */
	/* The user part of the chain; of samples with deferred stacks, with wants_outcomes of all.
	 */
	bool has_user_state;
	uint8_t user_state;  /* enum stitch_state, PARTIAL and UNPROVEN among them */
	uint8_t user_reason; /* enum stitch_reason */
	uint8_t user_stop;   /* enum unw_stop: why it ends where it does; UNW_STOP_NONE: unknown */
	uint8_t user_why;    /* enum unw_why, of UNW_STOP_UNREPRESENTABLE */
	/* With wants_hows: how the frames of chain->locs[hows_at, + nr_hows) were found, enum
	 * unw_how each. */
	const uint8_t *hows;
	uint32_t hows_at, nr_hows;
	/* NULL: it is an event. Else it stands for these at its time, and only that is set; with
	 * trace_events_opts.wants_repeats. */
	const struct ana_repeat *repeat;
	/* NULL: it is one event. Else all of them; with trace_events_opts.wants_steps. */
	const struct ana_steps *steps;
};

struct ana_step; /* analyze/ana_steps.h */
struct ana_steps;

/** Events of one sampled operation that were emitted before, and are met again at another time. */
struct ana_repeat {
	uint64_t id; /* of the contents; unique in the run */
	const struct ana_event *events;
	size_t nr;
};

/**
 * Locations, chains and their ids are valid for one epoch: when @p epoch differs from the batch
 * before, forget every loc and chain pointer and id. dso, dso_sym, dso_line and texts live as long
 * as the analysis.
 */
struct ana_batch {
	const struct ana_event *events;
	size_t nr;
	uint64_t epoch;
	const struct ana_step *steps; /* of ana_event.steps: by number, as long as the epoch */
	size_t nr_steps;
};

struct ana_consumer {
	/** Any error ends the run; CLEW_STOPPED quietly. Called in order, from one thread. */
	enum clew_err (*batch)(void *ctx, const struct ana_batch *b);
	void *ctx;
};

/** What to skip before anything is resolved. Lists: NULL = all. */
struct ana_filter {
	const char *comms;                      /* comma list of thread names */
	const char *pids, *tids;                /* comma lists of numbers */
	const char *cpus;                       /* "0-2,5" */
	struct clew_perf_ns time_from, time_to; /* both inclusive; to = 0: no end */
};

/** Does it skip anything? */
static inline bool ana_filter_is_set(const struct ana_filter *f)
{
	return f->comms || f->pids || f->tids || f->cpus || f->time_from.ns || f->time_to.ns;
}

struct ana_opts {
	struct dso_store_opts symbols;
	struct dso_store *dsos; /* made with @symbols, outlives the analysis; NULL: its own */
	struct ana_filter filter;
	bool wants_lines;    /* source lines and inlined functions for each location */
	bool wants_addr;     /* resolve sample->addr */
	bool wants_branches; /* resolve branch stacks */
	/* Of each source in them, once: called where symbols are looked up, by one thread at a
	 * time. NULL: ana_loc.source stays NOT_ASKED. */
	enum ana_source (*source_of)(void *ctx, struct dso *d, uint64_t rel);
	void *source_ctx;
	bool wants_records;       /* deliver other records too */
	bool no_symbols;          /* leave ana_loc.sym NULL: dso and rel only */
	bool no_chains;           /* leave ana_event.chain NULL */
	uint32_t max_unwind;      /* frames unwound from a copied stack; 0: 1024 */
	const char *unwind_cache; /* directory of compiled unwind tables, made when missing; NULL:
				     none. Borrowed */
	bool no_merge; /* leave deferred user stacks in events of their own (not samples, with a
			  chain), and cookies in the samples' chains */
	bool wants_outcomes; /* the outcome of each sample's user part */
	bool wants_hows;     /* how each of its frames was found; with wants_outcomes */
	bool wants_who;      /* who ran, of each sample: ana_event.who */
	bool is_live; /* a stream someone watches: nothing waits for ever, see STREAM_AGE_NS */
	uint64_t max_wait_ns; /* of such a stream: for a user stack, in place of that; 0: that */
	/* For text that has to equal perf's: keep an exec'ed process's old maps
	 * (who_keep_maps_over_exec()), and no running kernel where the recording has no kernel map.
	 */
	bool is_as_perf;
	bool is_single_threaded;
	bool is_mapped; /* input->data is a whole mapped file (os_map_file): pages read are given
			   back */
	uint64_t cache_bytes; /* for locations and chains until the epoch ends; 0: 96 MiB */
};

/** A dso with addresses that found no symbol, for the summary. */
struct ana_unresolved {
	const struct dso *dso; /* NULL: outside of all mappings */
	uint64_t nr;           /* samples at an address without one there */
};

/** What AUX records say of one CPU's trace. */
struct ana_aux_cpu {
	uint32_t cpu;                                    /* all ones: unknown */
	uint64_t nr;                                     /* AUX records */
	uint64_t nr_truncated, nr_partial, nr_collision; /* of these, with the flag */
	struct clew_perf_ns first, last;                 /* of those with one of the flags */
	uint64_t nr_gaps, gap_ns; /* times that the buffer was full, and how long, at most */
};

/** From an AUX record that was truncated to the end of the next: trace is missing in between. */
struct ana_aux_gap {
	struct clew_perf_ns from, to; /* to: none: no record followed */
	uint32_t cpu;                 /* all ones: unknown */
	uint32_t flags;               /* PERF_AUX_FLAG_ of the first */
};

/** Records or samples that were lost: the newest one of the same ring came at from. */
struct ana_loss {
	struct clew_perf_ns from, to; /* equal: nothing of the ring came before */
	uint32_t cpu, tid;            /* all ones: any, or unknown; tid: where the CPU is unknown */
	uint64_t nr;
};

/** Of all losses with a time. */
struct ana_loss_sums {
	uint64_t nr, nr_records, ns;
};

/** Outcomes of the samples' user parts. */
struct ana_outcomes {
	uint64_t nr;                           /* samples; the sum of by_reason */
	uint64_t by_reason[NR_STITCH_REASONS]; /* [STITCH_NO_REASON]: the user part is there */
	uint64_t nr_partial, nr_unproven;      /* of these: STITCH_PARTIAL, STITCH_UNPROVEN */
	uint64_t nr_stops;                     /* stacks that say why they end */
	uint64_t by_stop[NR_UNW_STOPS];        /* of these */
	uint64_t by_how[NR_UNW_HOWS];          /* frames known by how they were found */
	uint64_t nr_by_convention;             /* stacks with a frame of UNW_HOW_FP_CONVENTION */
	uint64_t nr_complete_by_convention;    /* of these: STITCH_COMPLETE */
};

struct ana_tracing;
struct ana_windows;

struct ana_summary {
	struct ana_outcomes users; /* of the delivered samples */
	struct who_counts who;     /* of the same, with wants_who */
	struct stitch_counts stitch;
	uint64_t nr_samples;  /* delivered */
	uint64_t nr_filtered; /* omitted by ana_filter */
	uint64_t nr_bad;      /* samples that could not be parsed or belong to no event: skipped */
	uint64_t first_bad_offset;
	uint64_t nr_lost;         /* records the kernel had no room for, and samples it dropped */
	uint64_t nr_bpf_filtered; /* samples that a BPF filter of the recorder did not want */
	uint64_t nr_aux_bytes;    /* hardware trace in the file, not decoded here */
	uint64_t nr_aux_missing;  /* bytes that AUX records announce in a file without any trace at
				     all */
	struct clew_perf_ns first_time, last_time; /* of samples */
	uint64_t nr_over_budget;                   /* things that symbols.budget had no room for */
	uint64_t nr_maps_dropped;          /* mappings not taken: see who_nr_maps_dropped() */
	uint64_t nr_unwound[NR_UNW_STOPS]; /* copied user stacks, by how their unwinding ended */
	uint64_t nr_unwound_by_fp;         /* of these, with frames found by frame pointer alone */
	struct perf_order_counts order;
	const char *kernel_note; /* a doubt about the kernel's symbols, dso_note(); NULL: none */
	/* Files with names that nothing proves to be the recorded ones, dso_unchecked(): each once.
	 * Lives as long as the analysis */
	struct dso *const *unchecked;
	size_t nr_unchecked;
	const char *code_note;      /* as kernel_note, about code made at run time: the first one */
	const char *stacks_note;    /* what is wrong with what the header keeps of user stacks
				       (perf_stack_info.h); NULL: nothing */
	uint64_t nr_stacks_unknown; /* samples that it should have known, then */
	struct clew_diag
		end; /* code CLEW_OK: all was read; CLEW_TRUNCATED: the file was cut at offset */
	const struct ana_unresolved
		*unresolved; /* most samples first; lives as long as the analysis */
	size_t nr_unresolved;
	const struct ana_aux_cpu *aux; /* by CPU; lives as long as the analysis */
	size_t nr_aux;
	const struct ana_aux_gap *gaps; /* by CPU and time; the first ones of each */
	size_t nr_gaps;
	struct ana_loss_sums loss_sums;
	const struct ana_loss *losses; /* in order of their ends, the first ones */
	size_t nr_losses;
	/* When events that pause and resume had tracing on (ana_tracing.h); lives as long as the
	 * analysis. NULL: no event does. */
	const struct ana_tracing *tracing;
	const struct ana_windows *windows; /* snapshots of trace, in the same way */
};

/** "outermost", "stack-truncated", ...: for ana_event.unwind_stop and ana_summary.nr_unwound. */
const char *analyze_stop_name(uint8_t stop);

struct analyze;

/** @p input is borrowed for the analysis's life. Errors as perf_file_open(). */
enum clew_err analyze_open(struct analyze **ret, const struct perf_input *input,
			   const struct ana_opts *opts, struct clew_diag *diag);

/** The file's events and features: complete after analyze_open() for files, after the first batch
 * for pipes. */
struct perf_file *analyze_file(struct analyze *a);
struct dso_store *analyze_dsos(struct analyze *a);

/* For another reader of the same recording. */
struct ana_places;
const struct perf_input *analyze_input(const struct analyze *a);
const struct dso_store_opts *analyze_symbols(const struct analyze *a);
struct ana_places *analyze_places(struct analyze *a);

/** Before the run: as ana_opts.is_single_threaded, for a consumer that looks up symbols itself. */
void analyze_set_single_threaded(struct analyze *a);

/** Before the run: was the recorder in the initial PID namespace, by a proof that is not in its own
 * words? */
void analyze_set_root(struct analyze *a, enum who_fact is_root);

/** Before the run: as ana_opts.wants_branches and no_chains, where the file's header decides. */
void analyze_want_branches(struct analyze *a);

/**
 * Run everything through @p consumer, once; it is not called any more after the return.
 * @return CLEW_OK, also for a file that was cut (summary.end says so); CLEW_BAD_FILE: a record of
 * impossible size at diag.offset (what stands before it was delivered); CLEW_NO_MEMORY; CLEW_OS;
 * the consumer's error.
 */
enum clew_err analyze_run(struct analyze *a, const struct ana_consumer *consumer,
			  struct clew_diag *diag);

/**
 * The same record by record, in the thread that calls: begin, then steps until one does not return
 * CLEW_OK. A step calls the consumer, now and then, with what has come together.
 */
enum clew_err analyze_begin(struct analyze *a, const struct ana_consumer *consumer,
			    struct clew_diag *diag);
/** @return CLEW_OK; CLEW_END: all was read, also of a file that was cut; else as analyze_run(). */
enum clew_err analyze_step(struct analyze *a, struct clew_diag *diag);

/**
 * Between steps: call the consumer with all that has come, and begin a new epoch without any
 * location, chain or symbol of the one before, so that dso_store_trim() may be called next.
 */
enum clew_err analyze_settle(struct analyze *a);

/** After the run; between steps, the counts of records so far. */
const struct ana_summary *analyze_summary(const struct analyze *a);

void analyze_free(struct analyze *a);

#endif
