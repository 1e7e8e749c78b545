/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_BPF_CLEW_BPF_H
#define RECORD_BPF_CLEW_BPF_H

#include <stdint.h>

#include "unwind/unw_rule.h"

/*
 * What the BPF programs and user space both know: records in the rings, values of maps.
 */
enum {
	CB_CHUNK_WORDS = 256, /* u32 words of a chunk: one element of a table's map */
	CB_CHUNK_RULES = 32,  /* rules of a chunk, 32 bytes apart */
	CB_MAX_TABLES = 1 << 16,
	CB_MAX_DEPTH = 1024,
	CB_WINDOW_WORDS = 128, /* of the stack, read at once */
	CB_NR_REGS = 32,       /* DWARF numbers: amd64 has 16, aarch64 32 */
	CB_MAX_COPY = 32 << 10,
	CB_NR_RANGES = 8,
	CB_MEMO_WORDS = 1 << 15,
};

/* Identity of what is mapped: { dev | generation << 32, inode, size, mtime }; the vdso:
 * { 0, 0, CB_KEY_VDSO, 0 }. */
struct cb_key {
	uint64_t word[4];
};
_Static_assert(sizeof(struct cb_key) == 32, "a map's key");
enum { CB_KEY_VDSO = 1 };

enum cb_file_state { CB_FILE_WANTED, CB_FILE_NONE, CB_FILE_READY };

/* What is known of a mapped file. Its table: chunks of words (buckets, rows), then of rules. */
struct cb_file {
	uint64_t start, end; /* rel */
	uint32_t state;      /* enum cb_file_state */
	uint32_t table; /* 1..65535, where in the map of tables; a number comes again only after
			   all others, so that a walk in flight never meets another table */
	uint32_t shift;
	uint32_t nr_buckets; /* words before the first row: this + 1 */
	uint32_t rule_chunk; /* chunk of rule 0 */
	uint32_t is_used;    /* since user space looked last */
};
_Static_assert(sizeof(struct cb_file) == 40, "a map's value");

/* In the ring of requests. */
struct cb_request {
	uint64_t time, cookie;
	uint32_t tid, cpu, event, pad;
};
_Static_assert(sizeof(struct cb_request) == 32, "a ring's record");

/* In the ring of stacks. */
enum cb_kind { CB_STACK, CB_WANT, CB_REGS, CB_PIECE };

struct cb_stack {
	uint32_t kind; /* CB_STACK */
	uint32_t pid, tid, cpu;
	uint64_t time, cookie;
	uint16_t nr; /* frames */
	uint8_t stop, why;
	uint8_t method;   /* of frame 1 and up; CB_MIXED: 4 bits a frame after the frames, low half
			     first, in whole u64 */
	uint8_t has_copy; /* CB_REGS and CB_PIECE of the same cookie went before */
	uint8_t pad[2];   /* then uint64_t ips[nr] */
};
_Static_assert(sizeof(struct cb_stack) == 40, "a ring's record");
enum { CB_MIXED = 0xff, CB_EXACT = 8 /* of a frame's 4 bits: perfdata/perf_deferred.h */ };

struct cb_want {
	uint32_t kind, pid;
	struct cb_key key;
	uint64_t start, end;
};
_Static_assert(sizeof(struct cb_want) == 56, "a ring's record");

/* The walk stopped here for want of a table: registers by DWARF number, then pieces of the stack
 * from SP on. */
struct cb_regs {
	uint32_t kind, tid;
	uint64_t cookie, pc, known;
	uint64_t r[CB_NR_REGS];
};
_Static_assert(sizeof(struct cb_regs) == 288, "a ring's record");

struct cb_piece {
	uint32_t kind, tid;
	uint64_t cookie, start;
	uint32_t nr_words, pad;
	uint64_t word[CB_WINDOW_WORDS];
};
_Static_assert(sizeof(struct cb_piece) == 32 + 8 * CB_WINDOW_WORDS, "a ring's record");

struct cb_range {
	uint64_t start, end;
};

/* Fixed before the programs are loaded. */
struct cb_config {
	uint32_t max_stack;
	int32_t clockid;
	uint32_t is_system_wide;
	uint32_t nr_scratch;   /* a power of two */
	uint64_t request_wake; /* bytes in the ring that wake the reader */
	uint64_t stack_wake;
	uint64_t code_bits;  /* of a return address: aarch64 signs it with the others */
	uint32_t page_shift; /* vm_pgoff counts pages */
	uint32_t pad;
};

/* Found while the programs are being loaded; zero where the kernel hides its addresses. */
struct cb_text {
	struct cb_range entry;                   /* in which the user registers are being stored */
	struct cb_range returning[CB_NR_RANGES]; /* after task works */
};

/* Words that user space changes while the programs run: a map's keys. */
enum cb_control {
	CB_GENERATION, /* counts tables put or taken away */
	CB_STOPPED,
	CB_COPY_BYTES, /* of stack that may still be copied for want of a table */
	NR_CB_CONTROLS
};

enum cb_count {
	CB_REQUESTS,
	CB_ENTRIES,
	CB_STACKS,
	CB_REFUSED,
	CB_MAP_FULL,
	CB_RING_FULL,
	CB_KERNEL_TASKS,
	CB_NO_SCRATCH, /* a walk found no memory to work in: its stack has no frame */
	CB_AT_ONCE,    /* walked in the sample's own program, not put off */
	CB_NO_COPY,    /* a walk lacked a table, and found no room for its copy, or for all of it */
	CB_LATE,       /* user mode ran before the callback did: that entry has no stack */
	NR_CB_COUNTS
};

#endif
