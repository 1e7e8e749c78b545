/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_PROP_COOKIE_MODEL_H
#define TESTS_PROP_COOKIE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A world of two CPUs and two tasks around the state code of record/bpf/cookie_state.h: what the
 * kernel does to tasks, what the BPF program makes of it, and the truth beside it, which the
 * program cannot see. model_step() is one step of it; where the world could continue in several
 * ways, it asks model.choose().
 *
 * Truth is the user state: a number that changes when user code runs (or exec replaces it). A
 * sample may only ever get a stack that was read in its own user state.
 */

/* Interruptions by a request are tried between the stores of cookie_state.h as well: at its
 * compiler barriers and on both sides of its compare-and-swap. */
void model_point(void);
uint64_t model_swap(uint64_t *at, uint64_t old, uint64_t new);
#define __asm__ \
 model_point(); \
 __asm__
#define __sync_val_compare_and_swap model_swap
#include "record/bpf/cookie_state.h"
#undef __asm__
#undef __sync_val_compare_and_swap

enum {
	MODEL_TASKS = 2,
	MODEL_CPUS = 2,
	MODEL_COOKIES = 12,
	MODEL_NO_CPU = 0xff,
	MODEL_MIXED = 0xff
};

enum model_mode {
	MODEL_USER,
	MODEL_KERNEL, /* entered; the callback has not run in this entry */
	MODEL_WALK,   /* in the callback, after cookie_callback_begin() */
	MODEL_END,    /* in the callback, the record is written */
	MODEL_LEAVE,  /* in the callback, after cookie_callback_end() */
	MODEL_AFTER,  /* after the callback, on the way to user mode */
	MODEL_DEAD
};

/** The kernel's one work item of a task. */
enum model_item {
	ITEM_NONE,
	ITEM_SCHEDULED, /* the interrupt that makes it a task work has not come yet */
	ITEM_ARMED,
	ITEM_RUNNING
};

enum model_step_kind {
	STEP_RUN,          /* user code runs */
	STEP_ENTER,        /* the kernel is entered, without a sample */
	STEP_ENTER_SAMPLE, /* a sample interrupts user mode */
	STEP_ENTER_EARLY,  /* a sample in the entry code, before the registers are stored */
	STEP_REQUEST,      /* a sample in kernel mode */
	STEP_SWITCH,       /* a sample at sched_switch: the task leaves its CPU */
	STEP_PREEMPT,      /* it leaves it without a sample */
	STEP_ONTO,         /* it gets a CPU */
	STEP_ARM,
	STEP_BEGIN,
	STEP_WALK,
	STEP_END,
	STEP_LEAVE,
	STEP_RETURN,
	STEP_EXEC,
	STEP_EXIT,
	STEP_REUSE, /* a new task gets the tid */
	NR_MODEL_STEPS
};

/** Why a sample may stay without a stack. 0: it may not. */
enum model_excuse { EXCUSE_LATE = 1, EXCUSE_EXEC = 2, EXCUSE_EXIT = 4, EXCUSE_RING = 8 };

/** What went wrong, in the order of weight. */
enum model_fault {
	FAULT_NONE,
	FAULT_WRONG_STACK, /* a sample and a stack of different user states, or tasks, meet */
	FAULT_TWO_STACKS,  /* a cookie is answered twice */
	FAULT_SILENT,      /* user code continues, and a sample's stack will never come */
	FAULT_UNANSWERED,  /* a request is turned away, and nothing stood in its way */
	FAULT_TWO_COOKIES, /* an entry got two cookies though all was to be seen */
	FAULT_NOT_UNIQUE,  /* a cookie was given twice */
	FAULT_FULL         /* the model's own table */
};

/** How often each may happen in one run. */
struct model_budget {
	uint8_t requests, runs, switches, refusals, earlies, unseen, execs, exits;
	uint8_t full_maps, full_rings, missed_exits;
};

struct model_task {
	struct cookie_slot slot;
	uint64_t entry_cookie;  /* truth: the first cookie of this entry; 0: none yet */
	uint8_t mode, cpu;      /* enum model_mode */
	uint8_t item, item_cpu; /* enum model_item */
	uint8_t life,
		slot_life; /* which task has this tid; which task has the slot (its start time) */
	bool has_slot;
	uint8_t user;     /* truth */
	uint8_t switches; /* context switches */
	bool is_doubtful; /* something in this entry could not be seen: two cookies are right */
};

struct model_cookie {
	uint64_t cookie;
	uint8_t task, life;
	uint8_t sample_user, stack_user; /* 0: none yet; MODEL_MIXED: more than one */
	uint8_t excuse;
};

struct model_world {
	struct model_task task[MODEL_TASKS];
	struct model_cookie cookie[MODEL_COOKIES];
	uint64_t counter[MODEL_CPUS];
	struct model_budget left;
	uint8_t nr_cookies, next_user;
};

/** The protocol: cookie_state.h, or a copy of it with a mistake. */
struct model_protocol {
	const char *name;
	enum cookie_act (*request)(struct cookie_slot *s, const struct cookie_sight *now);
	uint64_t (*asked)(struct cookie_slot *s, const struct cookie_sight *now,
			  enum cookie_taken taken, uint64_t fresh);
	bool (*begin)(struct cookie_slot *s, uint64_t place, uint64_t fresh);
	void (*end)(struct cookie_slot *s, uint64_t rest);
	uint64_t (*make)(uint32_t cpu, uint64_t counter);
	bool ignores_start_time, counts_unsafely;
};

/** What the user registers show. */
enum model_eyes {
	EYES_SHARP,     /* other user states look different */
	EYES_SAME_PLACE /* they may have equal registers: a loop around one system call */
};

/** What happened, for whoever wants to hear (the stitcher). Time is the number of the call. */
struct model_hooks {
	void (*sample)(void *ctx, unsigned task, uint64_t cookie, uint8_t user);
	void (*stack)(void *ctx, unsigned task, uint64_t cookie, uint8_t user);
	void (*exec)(void *ctx, unsigned task);
	void (*exit)(void *ctx, unsigned task);
	void *ctx;
};

struct model {
	const struct model_protocol *protocol;
	enum model_eyes eyes;
	bool never_late; /* items are armed before the task can leave the CPU that asked */
	const struct model_hooks *hooks;
	unsigned (*choose)(void *ctx, unsigned n); /* 0 .. n - 1 */
	void *ctx;
	/* one step's outcome */
	enum model_fault fault;
	uint64_t nr_second_cookies; /* of doubtful entries */
	struct model_world *world;  /* during a step */
	unsigned task;
	bool is_inside; /* a callback's code runs: model_point() may interrupt */
};

void model_start(struct model_world *w, const struct model_budget *b);
bool model_can(const struct model *m, const struct model_world *w, unsigned task,
	       enum model_step_kind step);
/** Do it to @p w. m->fault says what it broke. */
void model_step(struct model *m, struct model_world *w, unsigned task, enum model_step_kind step);
/** What of @p w decides how it can continue: worlds with equal ones need to be explored once. */
void model_canonical(const struct model *m, const struct model_world *w, struct model_world *ret);
const char *model_step_name(enum model_step_kind step);
const char *model_fault_name(enum model_fault fault);

#endif
