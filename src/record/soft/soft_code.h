/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef RECORD_SOFT_SOFT_CODE_H
#define RECORD_SOFT_SOFT_CODE_H

#include "base/map_u64.h"
#include "base/vec.h"
#include "isa/x86/x86_outcome.h"

/*
 * The code of a process, as far as the next instruction the outcome of which depends on more than
 * itself.
 */

enum soft_stop {
	SOFT_STOP_BRANCH, /* conditional, indirect, return: outcome says where it goes */
	SOFT_STOP_CALL,   /* a system call */
	SOFT_STOP_STEP,   /* only running it shows where it goes */
	SOFT_STOP_TRAP,   /* it raises a signal: INT3, ... */
	SOFT_STOP_PLAIN,  /* a long way without any: a stop to look around */
	SOFT_STOP_NONE,   /* none is reached: a loop of direct jumps, or there is no code */
};

struct soft_block {
	uint64_t start, stop; /* stop: the address of that instruction */
	uint8_t kind;         /* enum soft_stop */
	uint8_t bytes;        /* of that instruction */
	uint8_t is_link;      /* it is a call */
	uint8_t is_conditional;
	uint8_t is_changing; /* its code may be written to: not kept */
	uint64_t target;     /* of a conditional branch */
	struct x86_outcome outcome;
};

struct soft_map {
	uint64_t start, end, offset;
	uint32_t prot;
	bool is_file;
	char *path; /* as /proc/PID/maps has it; owned */
};

enum { SOFT_PAGE = 4096 };

struct soft_page {
	uint64_t address;
	bool is_fixed; /* of a file, and not writable */
	uint8_t code[SOFT_PAGE];
};

struct soft_code {
	int pid;
	bool has_maps;
	struct {
		VEC(struct soft_map);
	} maps;
	struct {
		VEC(struct soft_page *);
	} pages;
	struct {
		VEC(struct soft_block);
	} blocks;
	struct map_u64 page_of, block_of; /* address -> index; block_of: is_64 in bit 63 */
	struct soft_block changing;       /* the last one that is not kept */
};

/** The block at @p ip; valid until the next call. NULL: out of memory. */
const struct soft_block *soft_code_block(struct soft_code *c, uint64_t ip, bool is_64);

/** The address after the instruction at @p ip; 0: it is a branch, or unknown. */
uint64_t soft_code_after(struct soft_code *c, uint64_t ip, bool is_64);

/** Mappings have changed. */
void soft_code_forget(struct soft_code *c);

/** What is mapped at @p address; NULL: nothing, or unknown. */
const struct soft_map *soft_code_map(struct soft_code *c, uint64_t address);

/** Read /proc/PID/maps if they are unknown. */
void soft_code_read_maps(struct soft_code *c);

void soft_code_done(struct soft_code *c);

#endif
