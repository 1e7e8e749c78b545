/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef OS_PERF_RING_H
#define OS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/**
 * A perf event's mapped buffer: the control page, the data ring after it and, when asked for, the
 * AUX area. The kernel writes at head and never past tail; we read from tail and move it. One
 * reader.
 */
struct os_ring {
	void *page; /* the kernel's control page; NULL: not mapped */
	const uint8_t *data;
	size_t data_bytes; /* a power of two */
	const uint8_t *aux;
	size_t aux_bytes; /* a power of two */
	bool is_backward; /* overwritten from high to low addresses; tail is never moved */
	bool is_aux_overwrite;
	uint64_t nr_skips;       /* heads that no tail fits: what was unread is given up */
	uint64_t tail, aux_tail; /* our side's copies: the page is the kernel's to read only */
};

/**
 * Map @p fd's data ring. @p data_bytes: a power of two, at least one page.
 * @p is_backward: for an event opened with write_backward, read with os_ring_backward().
 * @return 0; -EPERM: above the locked-memory limit (perf_event_mlock_kb); -errno.
 */
int os_ring_map(int fd, size_t data_bytes, bool is_backward, struct os_ring *ret);

/** Map the AUX area of a mapped ring. @p is_overwrite: read-only, the kernel runs round and round.
 */
int os_ring_map_aux(struct os_ring *r, int fd, size_t aux_bytes, bool is_overwrite);

void os_ring_unmap(struct os_ring *r);

/** Its AUX area alone; another may then be mapped. */
void os_ring_unmap_aux(struct os_ring *r);

/**
 * What lies unread, in order, as one or two spans of whole records (a record may cross from the
 * first into the second). @return bytes in all. The spans stay valid until os_ring_consume().
 * A head more than the ring's size after tail is counted in nr_skips, and reading continues from
 * there.
 */
size_t os_ring_peek(struct os_ring *r, struct bytes ret[2]);

/** Give @p size bytes, at most what os_ring_peek() returned, back to the kernel. */
void os_ring_consume(struct os_ring *r, size_t size);

/** What came since the last call, of a ring that someone else reads and consumes: nothing is given
 * back. Records may have been overwritten meanwhile. @return bytes in all. */
size_t os_ring_follow(struct os_ring *r, struct bytes ret[2]);

/** A paused backward ring, newest record first: whole records only, none that was there at the last
 * os_ring_backward_done(). @return bytes in all. */
size_t os_ring_backward(const struct os_ring *r, struct bytes ret[2]);
void os_ring_backward_done(struct os_ring *r);

/** A time for the order of pieces of trace, never 0: the CPU's counter where traces are stamped
 * with it (x86), else the clock. */
uint64_t os_ring_aux_stamp(void);

/** How far the kernel has written: bytes, or of an overwritten area an offset with some PMUs. It
 * moves only when the event stops. */
uint64_t os_ring_aux_head(const struct os_ring *r);

/** The same for the AUX area of a ring that is not overwritten: bytes since aux_tail. */
size_t os_ring_aux_peek(struct os_ring *r, struct bytes ret[2]);
void os_ring_aux_consume(struct os_ring *r, size_t size);

/** How the CPU's counter becomes perf's nanoseconds. @return false: this event's kernel side does
 * not say. */
struct os_ring_clock {
	uint64_t shift, mult, zero, cycles, mask;
	bool is_short;
};
bool os_ring_clock(const struct os_ring *r, struct os_ring_clock *ret);

#endif
