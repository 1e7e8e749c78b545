/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_regs.h"
#include "record/open/counters.h"

enum {
	DEFAULT_HZ = 4000,
	STORED_STACK = 8192,  /* as perf */
	COPIED_STACK = 32768, /* dropped once unwound, so size costs only bandwidth */
};

#if defined(__x86_64__)
# define ALL_REGS PERF_REGS_X86
#elif defined(__aarch64__)
# define ALL_REGS PERF_REGS_ARM64
#else
# define ALL_REGS 0ull
#endif

/* Arm's PMUs have no precise samples. The kernel still takes the bits, and then refuses a
 * program that reads kernel stacks (EPROTO, perf_event_set_bpf_handler()). */
#if defined(__aarch64__)
# define UNMEANT_WITH_BPF (3ull << PERF_ATTR_PRECISE_IP_SHIFT)
#else
# define UNMEANT_WITH_BPF 0ull
#endif

/* It acts on the trace of its group's leader, at each occurrence unless a term says otherwise. */
static bool is_trigger(const struct rec_event *e)
{
	return e->attr.aux_action & (PERF_AUX_PAUSE | PERF_AUX_RESUME);
}

static void set_rate(struct perf_attr *a, const struct rec_event *e, const struct rec_options *o)
{
	bool is_given = o->freq || o->period;

	if (o->is_no_samples && !e->aux) {
		a->flags &= ~PERF_ATTR_FREQ;
		a->sample_period = 0;
	} else if (e->has_freq) {
		a->flags |= PERF_ATTR_FREQ;
	} else if ((e->aux || is_trigger(e)) && !e->has_period) { /* -F and -c are for samples */
		a->sample_period = e->aux ? a->sample_period : 1;
		a->flags &= ~PERF_ATTR_FREQ;
	} else if (e->has_period || (a->sample_period && !is_given)) {
		a->flags &=
			~PERF_ATTR_FREQ; /* of a term, or of a kind of which every event matters */
	} else if (o->period) {
		a->sample_period = o->period;
		a->flags &= ~PERF_ATTR_FREQ;
	} else {
		a->sample_period = o->freq ? o->freq : DEFAULT_HZ;
		a->flags |= PERF_ATTR_FREQ;
	}
	if (a->flags & PERF_ATTR_FREQ || o->with_period == REC_YES)
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (o->with_period == REC_NO)
		a->sample_type &= ~PERF_SAMPLE_PERIOD;
}

static void copy_user_stack(struct perf_attr *a, const struct rec_event *e,
			    const struct rec_options *o, uint32_t stack_bytes)
{
	a->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	a->sample_regs_user |= ALL_REGS;
	a->sample_stack_user = e->stack_bytes  ? e->stack_bytes
			     : o->stacks.bytes ? o->stacks.bytes
					       : stack_bytes;
	a->flags |= PERF_ATTR_EXCLUDE_CALLCHAIN_USER; /* the copy has it better */
}

static enum rec_stacks named_stacks(const struct rec_event *e, const struct rec_options *o)
{
	if (!e->has_stacks)
		return o->stacks.kind;
	if (e->stacks == REC_STACKS_COPY)
		return rec_stacks_of_copies(o);
	if (e->stacks != REC_STACKS_AUTO)
		return e->stacks;
	/* max-stack= alone */
	return o->stacks.kind == REC_STACKS_NONE ? REC_STACKS_FP : o->stacks.kind;
}

enum rec_stacks rec_stacks_of(const struct rec_event *e, const struct rec_options *o)
{
	enum rec_stacks kind = e->aux ? REC_STACKS_NONE : named_stacks(e, o);

	return o->no_user_chain && rec_stacks_is_rewritten(kind) ? REC_STACKS_FP : kind;
}

static void add_user_part(struct perf_attr *a, const struct rec_event *e,
			  const struct rec_options *o, enum rec_stacks kind)
{
	switch (kind) {
	case REC_STACKS_BPF_DEFERRED:
	case REC_STACKS_BPF_IMMEDIATE:
		a->flags |= PERF_ATTR_EXCLUDE_CALLCHAIN_USER;
		a->flags &= ~UNMEANT_WITH_BPF;
		break;
	case REC_STACKS_KERNEL_DEFERRED:
		a->flags |= PERF_ATTR_DEFER_CALLCHAIN;
		break;
	case REC_STACKS_COPY:
		copy_user_stack(a, e, o, COPIED_STACK);
		break;
	case REC_STACKS_STORED:
		copy_user_stack(a, e, o, STORED_STACK);
		break;
	case REC_STACKS_LBR:
		a->sample_type |= PERF_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
					PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_NO_FLAGS |
					PERF_SAMPLE_BRANCH_HW_INDEX;
		break;
	case REC_STACKS_FP:
	case REC_STACKS_NONE:
	case REC_STACKS_AUTO:
	case NR_REC_STACKS:
		break;
	}
}

static void set_callgraph(struct perf_attr *a, const struct rec_event *e,
			  const struct rec_options *o, const struct rec_target *t)
{
	enum rec_stacks kind = rec_stacks_of(e, o);

	if (kind == REC_STACKS_NONE)
		return;
	a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!a->sample_max_stack && !rec_stacks_is_rewritten(kind))
		a->sample_max_stack = o->stacks.depth;
	if (o->no_user_chain)
		a->flags |= PERF_ATTR_EXCLUDE_CALLCHAIN_USER;
	if (o->no_kernel_chain)
		a->flags |= PERF_ATTR_EXCLUDE_CALLCHAIN_KERNEL;
	if (!o->no_user_chain)
		add_user_part(a, e, o, kind);
	if (rec_stacks_is_rewritten(kind))
		a->sample_type |= PERF_SAMPLE_TIME | PERF_SAMPLE_TID;
	/* A ring of a task does not give the CPU, by which samples find their requests. */
	if (rec_stacks_is_bpf(kind) && t->cpus.nr && t->cpus.data[0] < 0)
		a->sample_type |= PERF_SAMPLE_CPU;
}

static void set_contents(struct perf_attr *a, const struct rec_event *e,
			 const struct rec_options *o, const struct rec_target *t)
{
	const struct {
		bool wants;
		uint64_t bits;
	} table[] = {
		{true,					PERF_SAMPLE_IP | PERF_SAMPLE_TID        },
		{t->is_system_wide || o->cpus || o->with_cpu, PERF_SAMPLE_CPU                         },
		{o->with_raw,				 PERF_SAMPLE_RAW | PERF_SAMPLE_CPU       },
		{e->wants_read,                               PERF_SAMPLE_READ                        },
		{e->attr.aux_sample_size,                     PERF_SAMPLE_AUX                         },
		{o->with_addr,				PERF_SAMPLE_ADDR                        },
		{o->with_phys_addr,                           PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_ADDR},
		{o->with_weight,                              PERF_SAMPLE_WEIGHT                      },
		{o->with_transaction,                         PERF_SAMPLE_TRANSACTION                 },
		{o->with_data_page_size,                      PERF_SAMPLE_DATA_PAGE_SIZE              },
		{o->with_code_page_size,                      PERF_SAMPLE_CODE_PAGE_SIZE              },
		{o->with_cgroups,                             PERF_SAMPLE_CGROUP                      },
		{o->branch_filter,                            PERF_SAMPLE_BRANCH_STACK                },
		{o->has_user_regs,                            PERF_SAMPLE_REGS_USER                   },
		{o->has_intr_regs,                            PERF_SAMPLE_REGS_INTR                   },
	};
	bool with_time = e->has_time_term ? e->wants_time : o->with_time != REC_NO;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].wants)
			a->sample_type |= table[i].bits;
	if (with_time)
		a->sample_type |= PERF_SAMPLE_TIME;
	else
		a->sample_type &= ~PERF_SAMPLE_TIME;
	a->branch_sample_type |= o->branch_filter;
	if (o->has_user_regs)
		a->sample_regs_user |= o->user_regs ? o->user_regs : ALL_REGS;
	if (o->has_intr_regs)
		a->sample_regs_intr |= o->intr_regs ? o->intr_regs : ALL_REGS;
}

static void set_worlds(struct perf_attr *a, const struct rec_options *o)
{
	if (o->is_all_user)
		a->flags |= PERF_ATTR_EXCLUDE_KERNEL;
	if (o->is_all_kernel)
		a->flags |= PERF_ATTR_EXCLUDE_USER;
}

static bool is_inherited(const struct rec_event *e, const struct rec_target *t)
{
	return e->has_inherit ? e->wants_inherit : t->is_inherited;
}

void rec_attr_count(struct perf_attr *a, const struct rec_event *e, const struct rec_options *o,
		    const struct rec_target *t, bool is_grouped)
{
	a->size = sizeof(*a);
	a->flags |= PERF_ATTR_DISABLED;
	a->flags &= ~(PERF_ATTR_FREQ | PERF_ATTR_WATERMARK | PERF_ATTR_WRITE_BACKWARD);
	a->sample_period = 0;
	a->sample_type = PERF_SAMPLE_IDENTIFIER;
	a->branch_sample_type = 0;
	a->sample_max_stack = 0;
	a->read_format =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
	if (is_grouped)
		a->read_format |= PERF_FORMAT_GROUP;
	if (is_inherited(e, t))
		a->flags |= PERF_ATTR_INHERIT;
	set_worlds(a, o);
}

void rec_attr_setup(struct perf_attr *a, const struct rec_event *e, const struct rec_options *o,
		    const struct rec_target *t)
{
	a->size = sizeof(*a);
	a->flags |= PERF_ATTR_SAMPLE_ID_ALL | PERF_ATTR_DISABLED;
	a->read_format |= PERF_FORMAT_LOST;
	set_contents(a, e, o, t);
	set_rate(a, e, o);
	set_callgraph(a, e, o, t);
	if (is_inherited(e, t))
		a->flags |= PERF_ATTR_INHERIT;
	/* Parent and child may swap their contexts at a switch, with what is paused in them. Events
	 * that are read with samples prevent that. */
	if (is_trigger(e) && a->flags & PERF_ATTR_INHERIT)
		a->sample_type |= PERF_SAMPLE_READ;
	a->aux_sample_size &= ~7u;
	if (o->with_stat) {
		a->flags |= PERF_ATTR_INHERIT_STAT;
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
				  PERF_FORMAT_ID;
	}
	if (o->with_running_time)
		a->read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (!e->aux && (e->has_overwrite ? e->wants_overwrite : o->is_overwrite))
		a->flags |= PERF_ATTR_WRITE_BACKWARD;
	if (o->is_unbuffered || e->takes_snapshot) {
		a->flags &= ~PERF_ATTR_WATERMARK;
		a->wakeup = 1;
	}
	set_worlds(a, o);
	if (o->has_clockid) {
		a->flags |= PERF_ATTR_USE_CLOCKID;
		a->clockid = o->clockid;
	}
}

void rec_attr_of_file(struct perf_attr *a, enum rec_stacks stacks, bool keeps_regs,
		      bool is_tracking, bool has_deferred)
{
	if (has_deferred && is_tracking)
		a->flags |= PERF_ATTR_DEFER_OUTPUT;
	if (rec_stacks_is_rewritten(stacks)) {
		a->flags &= ~PERF_ATTR_EXCLUDE_CALLCHAIN_USER;
		a->flags |= PERF_ATTR_DEFER_CALLCHAIN;
	}
	if (stacks != REC_STACKS_COPY)
		return;
	a->sample_type &= ~PERF_SAMPLE_STACK_USER;
	a->sample_stack_user = 0;
	if (keeps_regs)
		return;
	a->sample_type &= ~PERF_SAMPLE_REGS_USER;
	a->sample_regs_user = 0;
}

void rec_attr_track(struct perf_attr *a, const struct rec_options *o)
{
	a->flags |= PERF_ATTR_MMAP | PERF_ATTR_MMAP2 | PERF_ATTR_COMM | PERF_ATTR_COMM_EXEC |
		    PERF_ATTR_TASK | PERF_ATTR_KSYMBOL;
	if (!o->no_bpf_events)
		a->flags |= PERF_ATTR_BPF_EVENT;
	if (!o->no_build_ids)
		a->flags |= PERF_ATTR_BUILD_ID;
	if (o->with_addr || o->with_phys_addr)
		a->flags |= PERF_ATTR_MMAP_DATA;
	if (o->with_namespaces)
		a->flags |= PERF_ATTR_NAMESPACES;
	if (o->with_cgroups)
		a->flags |= PERF_ATTR_CGROUP;
	if (o->with_switches == REC_YES)
		a->flags |= PERF_ATTR_CONTEXT_SWITCH;
}
