/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_PLAN_REC_OPTIONS_H
#define RECORD_PLAN_REC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/plan/event_list.h"
#include "record/plan/rec_sink.h"
#include "record/plan/stacks.h"

/** When --switch-output starts another file. */
struct rec_switch {
	bool is_on, on_signal;
	uint64_t bytes, ns; /* 0: not by that */
	uint32_t max_files; /* 0: keep all */
};

/** Snapshots of hardware trace: the kernel overwrites the area, and a request keeps what is newest.
 */
struct rec_snapshot {
	bool is_on, at_end;
	size_t bytes; /* the newest so many of each area; 0: all */
	uint64_t max; /* stop after so many; 0: no limit */
};

/** Of trace in a sample: what fits a record of 65,535 bytes beside the rest, as perf has it. */
enum { REC_MAX_AUX_SAMPLE = 60 * 1024 };

enum rec_tristate { REC_DEFAULT, REC_YES, REC_NO };

/** How a recording is to be made; zeroed = all defaults. Strings are borrowed for the session. */
struct rec_options {
	/* who */
	char *const *argv;              /* the command, NULL-terminated; NULL: none */
	const char *pids, *tids, *user; /* comma lists as given */
	const char *cpus;               /* "0-3,8" */
	const char *cgroups;            /* one per event, in order */
	bool is_system_wide, is_per_thread;
	enum rec_tristate inherit;

	/* when */
	uint64_t freq, period; /* 0: not given */
	bool is_freq_max, is_freq_strict, is_no_samples;
	int64_t delay_ms; /* 0: start at once; -1: start disabled */
	bool is_counting; /* nothing is sampled, there are no rings: record/count */

	/* what each sample holds */
	struct rec_stack_plan stacks;
	bool keeps_deferred;  /* do not merge deferred stacks into the samples (done by the caller)
			       */
	bool is_store_stacks; /* dwarf: leave the copies in the file, as perf does */
	bool has_drain_ms;
	uint32_t drain_ms;       /* how long to wait for user stacks at the end */
	const char *cache_dir;   /* of compiled unwind tables; NULL: none */
	const char *search_path; /* $PATH, to find the command's binary before it starts */
	uint64_t branch_filter;  /* PERF_SAMPLE_BRANCH_; 0: none */
	uint64_t user_regs, intr_regs;
	bool has_user_regs, has_intr_regs;
	bool with_addr, with_phys_addr, with_weight, with_transaction, with_raw, with_cpu;
	bool with_data_page_size, with_code_page_size, with_identifier;
	enum rec_tristate with_time, with_period;
	bool is_all_user, is_all_kernel, no_kernel_chain, no_user_chain;

	/* what else the stream holds */
	enum rec_tristate with_switches; /* default: where threads are found by them */
	bool with_namespaces, with_cgroups, with_stat, with_running_time;
	bool no_bpf_events, no_build_ids;
	bool is_exclude_self;
	bool has_clockid;
	int32_t clockid;

	/* buffers and files */
	size_t data_bytes, aux_bytes; /* 0: chosen by what is allowed */
	struct rec_snapshot snapshot;
	const char *trace_function; /* SYMBOL[@DSO]: soft_pt traces its calls alone; NULL: not */
	uint64_t max_calls;         /* so many of them; 0: no limit */
	uint32_t aux_sample_bytes;  /* of trace in each sample; 0: as the events say */
	bool is_overwrite, is_unbuffered, is_tail_synthesize;
	const char *output;          /* NULL: "perf.data"; "-": standard output */
	const struct rec_sink *sink; /* in place of a file; NULL: none */
	int zstd_level;              /* 0: not compressed */
	uint64_t max_bytes;          /* 0: no limit */
	bool is_stamped;             /* the file's name carries the time */
	struct rec_switch switch_output;
	const char *control;             /* "fd:N[,M]" or "fifo:PATH[,PATH]" */
	bool is_verbose;                 /* report what was opened */
	int realtime;                    /* SCHED_FIFO priority; 0: leave it */
	const char *const *command_line; /* our own, for the CMDLINE feature */
	size_t nr_command_line;
};

/** What copies of stacks are for. */
static inline enum rec_stacks rec_stacks_of_copies(const struct rec_options *o)
{
	return o->is_store_stacks ? REC_STACKS_STORED : REC_STACKS_COPY;
}

#endif
