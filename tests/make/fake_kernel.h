/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_FAKE_KERNEL_H
#define TESTS_MAKE_FAKE_KERNEL_H

#include "base/vec.h"
#include "make/perf_encode.h"

/*
 * The functions of src/os that a recording calls, without a kernel: events open and write what a
 * test says, the clock stands still but for waits, signals and the command's end come when a test
 * sends them. A test that links this needs fake_kernel_link_args (tests/meson.build): the linker
 * puts these functions in the place of os's own.
 */

/** One perf_event_open(). */
struct fake_event {
	struct perf_attr attr;
	int fd, pid, cpu, group; /* group: descriptor of its leader, or -1 */
	unsigned int flags;
	uint32_t nr_enables;
	uint32_t closed; /* the n-th of all to be closed, from 1 on; 0: it is open */
	uint64_t id;
	bool is_enabled, is_gone; /* gone: its task has ended */
	uint64_t count;           /* that a read gives */
	uint32_t waits_percent;   /* of the time it does not run */
	uint8_t *memory;          /* of its ring: control page and data; NULL: not mapped */
	size_t data_bytes;
	uint8_t *aux; /* NULL: not mapped */
	size_t aux_bytes;
	bool is_aux_overwritten;
};

struct fake_kernel {
	struct {
		VEC(struct fake_event);
	} events;
	/** What happens during the @p n-th wait, from 0 on; may call the functions below. */
	void (*step)(struct fake_kernel *k, int n);
	void *ctx;
	int nr_waits;
	uint64_t now_ns;
	int refuses;    /* -errno of each open; 0: none */
	int signals[8]; /* sent and not taken; 0 ends */
	bool has_child_ended;
	int child_status;    /* as wait(2) gives it */
	int signal_of_child; /* that the recorder sent its command; 0: none */
	int nr_starts;       /* times the command was started */
	uint32_t nr_enables; /* calls */
	uint32_t nr_disables, nr_closes;
	uint32_t nr_untracked; /* changes after which a trace was on, and no event for switches */
	bool is_inside;        /* in a PID namespace that is not the initial one */
};

extern struct fake_kernel fake_kernel;

/** Forget the last recording. */
void fake_kernel_reset(void (*step)(struct fake_kernel *k, int n), void *ctx);

/** The event of that type and config that was opened last. */
struct fake_event *fake_kernel_newest(uint32_t type, uint64_t config);

/** The @p i-th event that has a ring. */
struct fake_event *fake_kernel_ring(size_t i);

/** Write a record as the kernel would, with the fields that the event's attr asks for. */
void fake_kernel_sample(struct fake_event *e, const struct perf_sample *s);
void fake_kernel_record(struct fake_event *e, uint32_t type, const union perf_view *v,
			const struct perf_sample_id *id);

/** Write @p n bytes of @p value into its AUX area. */
void fake_kernel_trace(struct fake_event *e, uint8_t value, size_t n);

void fake_kernel_signal(int number);
/** The command ends. @p status: as wait(2) gives it. */
void fake_kernel_child_ends(int status);
/** The tasks of all events end. */
void fake_kernel_tasks_end(void);

#endif
