/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef MAKE_AUX_MODEL_H
#define MAKE_AUX_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * AUX recording as a state machine: the kernel's event, triggers, area and data ring, the
 * hardware, and clew's reader, with clew's own rules for windows and restarts. Each step is atomic;
 * what the kernel does is as measured on Linux 6.12.95 and 7.3.4 (../shared/spec/aux-recording.md).
 * Trace consists of blocks with numbers from 1; the area has room for four.
 */
enum { MODEL_LEN = 4, MODEL_BLOCK = 64, MODEL_RING = 2, MODEL_MAX_STEPS = 32 };

/** What must hold in every state. */
enum model_property {
	MODEL_P1 = 1 << 0, /* the hardware runs iff it should, without nested triggers */
	MODEL_P2 = 1 << 1, /* a lost trigger is seen in the file */
	MODEL_P3 = 1 << 2, /* each block once and in order, gaps reported, progress */
	MODEL_P4 = 1 << 3, /* a window is the newest blocks */
	MODEL_P5 = 1 << 4, /* no request is lost */
	MODEL_P6 = 1 << 5, /* no trigger acts on a closed leader */
};

/** P7: behaviour that must be found wrong. */
enum model_bad {
	MODEL_MODULO = 1 << 0,       /* perf: windows modulo the area */
	MODEL_STICKY = 1 << 1,       /* perf: came round once, came round for ever */
	MODEL_ENABLE_ONLY = 1 << 2,  /* perf: no DISABLE after a full area */
	MODEL_DROP = 1 << 3,         /* perf: a request during a snapshot is dropped */
	MODEL_CONTAIN = 1 << 4,      /* perf: blocks of a slice that begins before the window */
	MODEL_EARLY_TAIL = 1 << 5,   /* the tail before the copy */
	MODEL_STALE_HEAD = 1 << 6,   /* a head without DISABLE */
	MODEL_LATE_TRIGGER = 1 << 7, /* a trigger is enabled in an active group */
	MODEL_LEADER_FIRST = 1 << 8, /* the leader is closed before its triggers */
	MODEL_NO_LOST = 1 << 9,      /* only LOST records say that records were lost */
	MODEL_NO_PEER = 1 << 10,     /* no other event's time to compare with */
};

struct model_config {
	const char *name;
	unsigned int bad;
	bool is_73;   /* Linux 7.3, else 6.12 */
	bool is_wide; /* of a CPU, else of a task */
	uint8_t cpu;  /* of a wide one; Linux 6.12 treats 0 otherwise */
	bool is_snapshot, is_counter, has_true_sizes;
	uint8_t limit; /* blocks of a window that the user wants; 0: all */
	bool has_triggers, nests, starts_paused, changes; /* changes: triggers, and closes them */
	uint8_t max_blocks, max_requests, max_hits, max_records;
};

enum model_event { EVENT_OFF, EVENT_INACTIVE, EVENT_ACTIVE, EVENT_ERROR, EVENT_CLOSED };
enum model_trigger { TRIGGER_NONE, TRIGGER_PAUSE, TRIGGER_RESUME };
enum model_record { RECORD_OTHER, RECORD_TRUNCATED, RECORD_LOST };

/** Bytes alone, so that states can be compared. */
struct model {
	uint8_t errors; /* model_property */
	/* the event and its triggers: 0 pauses, 1 resumes */
	uint8_t leader, trigger[2], is_in, cpu, runs, is_paused, is_wanted;
	uint8_t change; /* of a trigger, under way */
	/* triggers in service, the inner one last */
	uint8_t is_served, depth, kind[2], at[2], has_changed[2];
	uint8_t is_nested, nr_hits;
	uint8_t last, sample, has_traced, is_late; /* the last trigger, and what the file shows */
	/* the area, as byte or block numbers */
	uint8_t made, tail, area[MODEL_LEN], shown; /* shown: the kernel's aux_head */
	uint8_t is_pending;                         /* to be disabled when scheduled out */
	uint8_t has_gap;                            /* not yet reported */
	uint8_t slices, is_new_slice;
	/* the data ring */
	uint8_t ring[MODEL_RING + 1], nr_ring, is_losing, was_lost, nr_records;
	/* the reader */
	uint8_t phase, head, fill, is_truncated, is_lost, idle, ran, off;
	/* snapshots */
	uint8_t requests, asked, given, merged, held_at, old, count, taken, has_before,
		before[MODEL_LEN];
};

struct model_step {
	const char *name;
	struct model next;
};

void model_init(struct model *m, const struct model_config *c);

/** All steps that can come next. @return how many, in @p ret of MODEL_MAX_STEPS. */
size_t model_steps(const struct model_config *c, const struct model *m, struct model_step *ret);

/** The properties that @p m itself breaks, beside those broken on the way to it (errors). */
unsigned int model_check(const struct model_config *c, const struct model *m);

/* --- The parts; each takes a step if it can --- */

bool model_execute(struct model *m, const struct model_config *c);
bool model_schedule_out(struct model *m, const struct model_config *c);
bool model_schedule_in(struct model *m, const struct model_config *c, uint8_t cpu);
void model_enable(struct model *m, const struct model_config *c);
void model_disable(struct model *m);
void model_emit(struct model *m, uint8_t record);
/** Begin to trace, unless it is paused. @return false: the area is full. */
bool model_begin(struct model *m, const struct model_config *c);
void model_full(struct model *m, const struct model_config *c);

bool model_hit(struct model *m, const struct model_config *c, int trigger);
bool model_serve(struct model *m, const struct model_config *c);
bool model_change(struct model *m, const struct model_config *c, int trigger);
bool model_close(struct model *m, const struct model_config *c, int what);
unsigned int model_check_triggers(const struct model_config *c, const struct model *m);

const char *model_read(struct model *m, const struct model_config *c);
unsigned int model_check_progress(const struct model_config *c, const struct model *m);

bool model_request(struct model *m, const struct model_config *c);
const char *model_snapshot(struct model *m, const struct model_config *c);

#endif
