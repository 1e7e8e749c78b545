/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/perf_tracing.h"

#include <string.h>

#include "base/buf.h"
#include "unit/tap.h"

/* Formats of kvm's tracepoints: of Linux 7.3, arm64 and x86. */

#define COMMON                                                                  \
 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define ENTRY "name: kvm_entry\nID: 901\nformat:\n" COMMON
#define EXIT  "name: kvm_exit\nID: 902\nformat:\n" COMMON

static const char arm64_entry[] =
	ENTRY "\tfield:unsigned long vcpu_pc;\toffset:8;\tsize:8;\tsigned:0;\n\n"
	      "print fmt: \"PC: 0x%016lx\", REC->vcpu_pc\n";
static const char arm64_exit[] =
	EXIT "\tfield:int ret;\toffset:8;\tsize:4;\tsigned:1;\n"
	     "\tfield:unsigned int esr_ec;\toffset:12;\tsize:4;\tsigned:0;\n"
	     "\tfield:unsigned long vcpu_pc;\toffset:16;\tsize:8;\tsigned:0;\n\n"
	     "print fmt: \"%d, EC: 0x%04x, PC: 0x%016lx\", REC->ret, REC->esr_ec, REC->vcpu_pc\n";
static const char x86_entry[] =
	ENTRY "\tfield:unsigned int vcpu_id;\toffset:8;\tsize:4;\tsigned:0;\n"
	      "\tfield:unsigned long rip;\toffset:16;\tsize:8;\tsigned:0;\n"
	      "\tfield:bool immediate_exit;\toffset:24;\tsize:1;\tsigned:0;\n\n"
	      "print fmt: \"vcpu %u, rip 0x%lx%s\", REC->vcpu_id, REC->rip, "
	      "REC->immediate_exit ? \"[immediate exit]\" : \"\"\n";
static const char x86_exit[] =
	EXIT "\tfield:unsigned int exit_reason;\toffset:8;\tsize:4;\tsigned:0;\n"
	     "\tfield:unsigned long guest_rip;\toffset:16;\tsize:8;\tsigned:0;\n"
	     "\tfield:unsigned int vcpu_id;\toffset:24;\tsize:4;\tsigned:0;\n\n"
	     "print fmt: \"vcpu %u reason %u rip 0x%lx\", REC->vcpu_id, REC->exit_reason, "
	     "REC->guest_rip\n";

static void put_format(struct buf *b, const char *format)
{
	buf_u64(b, strlen(format));
	buf_add(b, format, strlen(format));
}

static void put(struct buf *b, const char *entry, const char *exit)
{
	buf_add(b, "\x17\x08\x44tracing0.5\0\0\x08", 16);
	buf_u32(b, 4096);
	buf_add(b, "header_page", 12);
	buf_u64(b, 0);
	buf_add(b, "header_event", 13);
	buf_u64(b, 0);
	buf_u32(b, 0); /* ftrace formats */
	buf_u32(b, 1); /* systems */
	buf_add(b, "kvm", 4);
	buf_u32(b, exit ? 2 : 1);
	put_format(b, entry);
	if (exit)
		put_format(b, exit);
	buf_u32(b, 0);
	buf_u32(b, 0);
}

int main(void)
{
	static const uint8_t raw[12] = {0, 0, 0, 0, 0, 0, 0, 0, 3};
	static const struct {
		const char *what, *entry, *exit;
		bool want;
		uint32_t offsets[2];
	} rows[] = {
		{"arm64",            arm64_entry, arm64_exit, true,  {PERF_NO_FIELD, PERF_NO_FIELD}},
		{"x86",              x86_entry,   x86_exit,   true,  {8, 24}                       },
		{"without the exit", arm64_entry, NULL,       false, {0, 0}                        },
	};
	struct perf_tracepoint entry, leave, sched;
	uint32_t number;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct buf b = {0};
		struct bytes data;

		put(&b, rows[i].entry, rows[i].exit);
		data = bytes_of(b.data, b.nr);
		CHECK_EQ(perf_kvm_find(data, &entry, &leave), rows[i].want, "%s", rows[i].what);
		if (rows[i].want)
			CHECK(entry.id == 901 && leave.id == 902 &&
				      entry.offsets[0] == rows[i].offsets[0] &&
				      leave.offsets[0] == rows[i].offsets[1],
			      "%s: ids and fields", rows[i].what);
		CHECK(!perf_sched_switch_find(data, &sched), "%s: no other", rows[i].what);
		buf_done(&b);
	}
	CHECK(perf_tracepoint_u32(bytes_of(raw, sizeof(raw)), 8, false, &number) && number == 3,
	      "a field is read");
	CHECK(!perf_tracepoint_u32(bytes_of(raw, sizeof(raw)), 9, false, &number) &&
		      !perf_tracepoint_u32(bytes_of(raw, 8), PERF_NO_FIELD, false, &number),
	      "not beyond the end");
	return tap_done();
}
