/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TESTS_MAKE_TRACING_MAKE_H
#define TESTS_MAKE_TRACING_MAKE_H

#include "base/buf.h"

/* One tracepoint, sched:switch of id 317: its description, as recordings carry it, and a payload.
 */

static const char tracing_format[] =
	"name: switch\nID: 317\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc char[] path;\toffset:20;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 place;\toffset:24;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"%s prio=%d path=%s place=%pS\", REC->comm, REC->prio, __get_str(path), "
	"(void *)REC->place\n";

/* As trace-cmd and perf lay it out, for a little-endian host. */
static inline void tracing_put(struct buf *b)
{
	buf_add(b, "\x17\x08\x44tracing0.5", 14);
	buf_char(b, '\0'); /* little-endian */
	buf_char(b, 8);
	buf_u32(b, 4096);
	buf_add(b, "header_page", 12);
	buf_u64(b, 0);
	buf_add(b, "header_event", 13);
	buf_u64(b, 0);
	buf_u32(b, 0); /* ftrace formats */
	buf_u32(b, 1); /* systems */
	buf_add(b, "sched", 6);
	buf_u32(b, 1);
	buf_u64(b, sizeof(tracing_format) - 1);
	buf_add(b, tracing_format, sizeof(tracing_format) - 1);
	buf_u32(b, 0); /* kallsyms */
	buf_u32(b, 0); /* printk */
}

struct tracing_payload {
	uint16_t type, unused;
	int32_t pid;
	char comm[8];
	int32_t prio;
	uint32_t path; /* offset | length << 16 */
	uint64_t place;
	char text[8];
};

static const struct tracing_payload tracing_payload = {.type = 317,
						       .comm = "ls",
						       .prio = -3,
						       .path = 32 | 5 << 16,
						       .place = 0x1010,
						       .text = "/bin"};

#endif
