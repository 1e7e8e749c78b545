/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/data_src.h"

/*
 * perf_mem_data_src, from the least significant bit: mem_op 5, mem_lvl 14, mem_snoop 5, mem_lock 2,
 * mem_dtlb 7, mem_lvl_num 4, mem_remote 1, mem_snoopx 2, mem_blk 3, mem_hops 3.
 * Spec: Linux 7.3 uapi/linux/perf_event.h, PERF_MEM_.
 */
enum {
	AT_OP = 0,
	AT_LVL = 5,
	AT_SNOOP = 19,
	AT_LOCK = 24,
	AT_TLB = 26,
	AT_NUM = 33,
	AT_REMOTE = 37,
	AT_SNOOPX = 38,
	AT_BLK = 40,
	AT_HOPS = 43
};

/* In mem_lvl and mem_dtlb. */
enum { IS_NA = 1, IS_HIT = 2, IS_MISS = 4 };

static unsigned int bits(uint64_t v, unsigned int at, unsigned int nr)
{
	return (unsigned int)(v >> at & ((1u << nr) - 1));
}

/* Names of the set bits with " or " between. @return how many. */
static unsigned int add_names(struct buf *b, const char *const *names, unsigned int set,
			      unsigned int nr_before)
{
	unsigned int nr = nr_before;

	for (unsigned int i = 0; set >> i; i++) {
		if (!(set >> i & 1))
			continue;
		buf_str(b, nr++ ? " or " : "");
		buf_str(b, names[i]);
	}
	return nr;
}

static void add_op(struct buf *b, unsigned int op)
{
	buf_str(b, op & 1    ? "N/A"
		   : op & 2  ? "LOAD"
		   : op & 4  ? "STORE"
		   : op & 8  ? "PFETCH"
		   : op & 16 ? "EXEC"
			     : "No");
}

static void add_hit(struct buf *b, unsigned int set)
{
	buf_str(b, set & IS_HIT ? " hit" : "");
	buf_str(b, set & IS_MISS ? " miss" : "");
}

/* Of the level's number. */
static const char *const nums[16] = {
	"",   "L1",  "L2",  "L3",        "L4",      "L5",  "L6",   "L7",
	"L8", "CXL", "I/O", "Any cache", "LFB/MAB", "RAM", "PMEM", "N/A",
};

static const char *const hops[8] = {
	"",
	"core, same node ",
	"node, same socket ",
	"socket, same board ",
	"board ",
	"(null) ",
	"(null) ",
	"(null) ",
};

static const char *hit_or_miss(unsigned int level)
{
	return level & IS_HIT ? " hit" : level & IS_MISS ? " miss" : " ";
}

static void add_level(struct buf *b, uint64_t v)
{
	static const char *const names[14] = {
		"N/A",
		"",
		"",
		"L1",
		"LFB/MAB",
		"L2",
		"L3",
		"Local RAM",
		"Remote RAM (1 hop)",
		"Remote RAM (2 hops)",
		"Remote Cache (1 hop)",
		"Remote Cache (2 hops)",
		"I/O",
		"Uncached",
	};
	unsigned int level = bits(v, AT_LVL, 14), num = bits(v, AT_NUM, 4), nr = 0;
	size_t from = b->nr;

	buf_str(b, bits(v, AT_REMOTE, 1) ? "Remote " : "");
	buf_str(b, hops[bits(v, AT_HOPS, 3)]);
	if (!bits(v, AT_HOPS, 3))
		nr = add_names(b, names, level & ~(unsigned int)(IS_HIT | IS_MISS), 0);
	if (num) {
		buf_str(b, nr ? " or " : "");
		buf_str(b, nums[num]);
	}
	buf_str(b, b->nr == from ? "N/A" : "");
	add_hit(b, level);
}

/* From Linux 6.12 on: the number, and only without one the bits. */
static void add_level_newer(struct buf *b, uint64_t v)
{
	enum { NUM_NA = 15 };
	unsigned int level = bits(v, AT_LVL, 14), num = bits(v, AT_NUM, 4);

	if (num && num != NUM_NA) {
		buf_str(b, bits(v, AT_REMOTE, 1) ? "Remote " : "");
		buf_str(b, hops[bits(v, AT_HOPS, 3)]);
		buf_str(b, nums[num]);
		buf_str(b, hit_or_miss(level));
		return;
	}
	if (!(level & ~(unsigned int)(IS_NA | IS_HIT | IS_MISS)))
		buf_str(b, "N/A");
	else
		add_level(b, v & ~((uint64_t)1 << AT_REMOTE | (uint64_t)15 << AT_NUM |
				   (uint64_t)7 << AT_HOPS | (uint64_t)IS_NA << AT_LVL));
}

static void add_snoop(struct buf *b, uint64_t v)
{
	static const char *const names[] = {"N/A", "None", "Hit", "Miss", "HitM"};
	static const char *const more[] = {"Fwd", "Peer"};
	unsigned int nr = add_names(b, names, bits(v, AT_SNOOP, 5), 0);

	if (!add_names(b, more, bits(v, AT_SNOOPX, 2), nr))
		buf_str(b, "N/A");
}

static void add_tlb(struct buf *b, unsigned int tlb)
{
	static const char *const names[] = {"N/A", "", "", "L1", "L2", "Walker", "Fault"};

	if (!add_names(b, names, tlb & ~(unsigned int)(IS_HIT | IS_MISS), 0))
		buf_str(b, "N/A");
	add_hit(b, tlb);
}

static void add_blocked(struct buf *b, unsigned int blk)
{
	if (!blk || blk & 1) {
		buf_str(b, " N/A");
		return;
	}
	buf_str(b, blk & 2 ? " Data" : "");
	buf_str(b, blk & 4 ? " Addr" : "");
}

void data_src_level_text(struct buf *b, uint64_t v)
{
	add_level_newer(b, v);
}

void data_src_text(struct buf *b, uint64_t v, bool is_newer)
{
	unsigned int lock = bits(v, AT_LOCK, 2);

	buf_str(b, "|OP ");
	add_op(b, bits(v, AT_OP, 5));
	buf_str(b, "|LVL ");
	if (is_newer)
		add_level_newer(b, v);
	else
		add_level(b, v);
	buf_str(b, "|SNP ");
	add_snoop(b, v);
	buf_str(b, "|TLB ");
	add_tlb(b, bits(v, AT_TLB, 7));
	buf_str(b, "|LCK ");
	buf_str(b, lock & 1 ? "N/A" : lock & 2 ? "Yes" : "No");
	buf_str(b, "|BLK ");
	add_blocked(b, bits(v, AT_BLK, 3));
}
