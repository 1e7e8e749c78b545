/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_MAPS_H
#define RECORD_BPF_BPF_MAPS_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "record/bpf/clew_bpf.h"
#include "record/bpf/cookie_state.h"

/* Sizes of 1 are set by user space. */

const volatile struct cb_config config = {};
volatile struct cb_text text = {};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NR_CB_CONTROLS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} controls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_CB_COUNTS + 1); /* the last: the CPU's counter of cookies */
	__type(key, uint32_t);
	__type(value, uint64_t);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} requests SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct cb_key);
	__type(value, struct cb_file);
} files SEC(".maps");

struct cb_chunk {
	uint32_t word[CB_CHUNK_WORDS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, CB_MAX_TABLES);
	__type(key, uint32_t);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__uint(map_flags, BPF_F_INNER_MAP);
			__uint(key_size, sizeof(uint32_t));
			__uint(value_size, sizeof(struct cb_chunk));
		});
} tables SEC(".maps");

/* Rules found before: serial << 48 | (rel - start of the table) << 16 | index of the rule. One word
 * each, so that it is read and written whole. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CB_MEMO_WORDS);
	__type(key, uint32_t);
	__type(value, uint64_t);
} memo SEC(".maps");

static __always_inline uint64_t control(enum cb_control what)
{
	uint32_t key = what;
	uint64_t *n = bpf_map_lookup_elem(&controls, &key);

	return n ? *(volatile uint64_t *)n : 0;
}

static __always_inline void count(enum cb_count what)
{
	uint32_t key = what;
	uint64_t *n = bpf_map_lookup_elem(&counts, &key);

	if (n)
		__sync_fetch_and_add(n, 1);
}

static __always_inline uint64_t fresh_cookie(void)
{
	uint32_t key = NR_CB_COUNTS;
	uint64_t *n = bpf_map_lookup_elem(&counts, &key);

	/* Atomic: a callback may be interrupted by a request here. */
	return n ? cookie_make(bpf_get_smp_processor_id(), __sync_fetch_and_add(n, 1) + 1) : 0;
}

static __always_inline uint64_t now(void)
{
	if (config.clockid == CLOCK_BOOTTIME)
		return bpf_ktime_get_boot_ns();
	if (config.clockid == CLOCK_TAI)
		return bpf_ktime_get_tai_ns();
	return bpf_ktime_get_ns();
}

static __always_inline uint64_t stack_flags(void)
{
	return bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) >= config.stack_wake
		     ? BPF_RB_FORCE_WAKEUP
		     : BPF_RB_NO_WAKEUP;
}

#endif
