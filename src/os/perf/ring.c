/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "os/perf/ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/clock.h"

/* struct perf_event_mmap_page, as far as we read it. Spec: Linux 7.3
 * include/uapi/linux/perf_event.h. */
struct control_page {
	uint32_t version, compat_version;
	uint32_t lock, index;
	int64_t offset;
	uint64_t time_enabled, time_running;
	uint64_t capabilities; /* bit 4: cap_user_time_zero, bit 5: cap_user_time_short */
	uint16_t pmc_width, time_shift;
	uint32_t time_mult;
	uint64_t time_offset, time_zero;
	uint32_t size, reserved_1;
	uint64_t time_cycles, time_mask;
	uint8_t reserved[928];
	uint64_t data_head, data_tail, data_offset, data_size;
	uint64_t aux_head, aux_tail, aux_offset, aux_size;
};
_Static_assert(offsetof(struct control_page, data_head) == 1024, "layout of perf_event_mmap_page");

enum { CAP_USER_TIME_ZERO = 1 << 4, CAP_USER_TIME_SHORT = 1 << 5, MIN_HEADER = 8 };

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int os_ring_map(int fd, size_t data_bytes, bool is_backward, struct os_ring *ret)
{
	size_t page = page_bytes();
	/* Write access is what makes the kernel respect our tail; without it old data is
	 * overwritten. */
	int prot = is_backward ? PROT_READ : PROT_READ | PROT_WRITE;
	uint8_t *p = mmap(NULL, page + data_bytes, prot, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*ret = (struct os_ring){
		.page = p, .data = p + page, .data_bytes = data_bytes, .is_backward = is_backward};
	return 0;
}

int os_ring_map_aux(struct os_ring *r, int fd, size_t aux_bytes, bool is_overwrite)
{
	struct control_page *page = r->page;
	int prot = is_overwrite ? PROT_READ : PROT_READ | PROT_WRITE;
	void *p;

	page->aux_offset = align_up(page_bytes() + r->data_bytes, page_bytes());
	page->aux_size = aux_bytes;
	p = mmap(NULL, aux_bytes, prot, MAP_SHARED, fd, (off_t)page->aux_offset);
	if (p == MAP_FAILED)
		return -errno;
	r->aux = p;
	r->aux_bytes = aux_bytes;
	r->is_aux_overwrite = is_overwrite;
	return 0;
}

void os_ring_unmap_aux(struct os_ring *r)
{
	if (r->aux)
		munmap((void *)(uintptr_t)r->aux, r->aux_bytes);
	r->aux = NULL;
	r->aux_bytes = 0;
}

void os_ring_unmap(struct os_ring *r)
{
	os_ring_unmap_aux(r);
	if (r->page)
		munmap(r->page, page_bytes() + r->data_bytes);
	*r = (struct os_ring){0};
}

void os_ring_consume(struct os_ring *r, size_t size)
{
	struct control_page *page = r->page;

	r->tail += size;
	/* Pairs with the kernel's control dependency on data_tail: our reads end before it may
	 * overwrite. */
	__atomic_store_n(&page->data_tail, r->tail, __ATOMIC_RELEASE);
}

size_t os_ring_peek(struct os_ring *r, struct bytes ret[2])
{
	const struct control_page *page = r->page;
	/* Pairs with the kernel's release of data_head: records before it are whole. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	size_t size = (size_t)(head - r->tail);

	if (size > r->data_bytes) { /* only a broken kernel gets there: lose all rather than lie */
		r->nr_skips++;
		os_ring_consume(r, size);
		size = 0;
	}
	bytes_of_ring(r->data, r->data_bytes, r->tail, size, ret);
	return size;
}

size_t os_ring_follow(struct os_ring *r, struct bytes ret[2])
{
	const struct control_page *page = r->page;
	/* Pairs with the kernel's release of data_head: records before it are whole. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	size_t size;

	if (head - r->tail > r->data_bytes)
		r->tail = __atomic_load_n(&page->data_tail, __ATOMIC_RELAXED);
	size = head - r->tail > r->data_bytes ? 0 : (size_t)(head - r->tail);
	bytes_of_ring(r->data, r->data_bytes, r->tail, size, ret);
	r->tail = head;
	return size;
}

size_t os_ring_backward(const struct os_ring *r, struct bytes ret[2])
{
	const struct control_page *page = r->page;
	/* Pairs with the kernel's release; the event is paused, so nothing moves after this. */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	size_t mask = r->data_bytes - 1, size = 0, limit = r->data_bytes;

	if (r->tail - head < limit)
		limit = (size_t)(r->tail - head);
	while (limit - size >= MIN_HEADER) {
		const uint8_t *header = r->data + ((head + size) & mask);
		uint16_t record = load_u16(header + 6, false);

		/* 0: never written; too long: the oldest record, half overwritten */
		if (record < MIN_HEADER || record > limit - size)
			break;
		size += record;
	}
	bytes_of_ring(r->data, r->data_bytes, head, size, ret);
	return size;
}

void os_ring_backward_done(struct os_ring *r)
{
	const struct control_page *page = r->page;

	r->tail = __atomic_load_n(&page->data_head, __ATOMIC_RELAXED); /* paused: ours alone */
}

uint64_t os_ring_aux_stamp(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc() | 1;
#else
	return os_clock_ns() | 1;
#endif
}

uint64_t os_ring_aux_head(const struct os_ring *r)
{
	const struct control_page *page = r->page;

	/* Pairs with the kernel's store of aux_head after the trace bytes are in memory. */
	return __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
}

size_t os_ring_aux_peek(struct os_ring *r, struct bytes ret[2])
{
	size_t size = (size_t)(os_ring_aux_head(r) - r->aux_tail);

	if (size > r->aux_bytes) { /* as above */
		r->nr_skips++;
		os_ring_aux_consume(r, size);
		size = 0;
	}
	bytes_of_ring(r->aux, r->aux_bytes, r->aux_tail, size, ret);
	return size;
}

void os_ring_aux_consume(struct os_ring *r, size_t size)
{
	struct control_page *page = r->page;

	r->aux_tail += size;
	/* A device may write what we free here, so order our reads against the store in full. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&page->aux_tail, r->aux_tail, __ATOMIC_RELEASE);
}

bool os_ring_clock(const struct os_ring *r, struct os_ring_clock *ret)
{
	const struct control_page *page = r->page;
	uint32_t seq;

	do { /* the kernel makes lock odd, then even again, round each update */
		seq = __atomic_load_n(&page->lock, __ATOMIC_ACQUIRE);
		ret->shift = page->time_shift;
		ret->mult = page->time_mult;
		ret->zero = page->time_zero;
		ret->cycles = page->time_cycles;
		ret->mask = page->time_mask;
		ret->is_short = page->capabilities & CAP_USER_TIME_SHORT;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (seq & 1 || __atomic_load_n(&page->lock, __ATOMIC_RELAXED) != seq);
	return page->capabilities & CAP_USER_TIME_ZERO;
}
