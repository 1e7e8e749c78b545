/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_synth.h"

#include "isa/text/insn_text.h"
#include "tap.h"

enum { BRANCH = ANA_FLOW_BRANCH, CALL = BRANCH | ANA_FLOW_CALL, RETURN = BRANCH | ANA_FLOW_RETURN };

static struct buf out;

static void flows(void)
{
	static const struct {
		uint32_t flow;
		const char *name, *exact;
	} rows[] = {
		{BRANCH,					  "jmp",            "jmp"         },
		{BRANCH | ANA_FLOW_COND,                          "jcc",            "jcc"         },
		{BRANCH | ANA_FLOW_INDIRECT,                      "return",         "jmp"         },
		{CALL,					    "call",           "call"        },
		{RETURN,					  "return",         "return"      },
		{CALL | ANA_FLOW_SYSCALL,                         "syscall",        "syscall"     },
		{RETURN | ANA_FLOW_SYSCALL,                       "sysret",         "sysret"      },
		{CALL | ANA_FLOW_INTERRUPT,                       "int",            "int"         },
		{CALL | ANA_FLOW_ASYNC | ANA_FLOW_INTERRUPT,      "hw int",         "hw int"      },
		{RETURN | ANA_FLOW_INTERRUPT,                     "iret",           "iret"        },
		{BRANCH | ANA_FLOW_TRACE_BEGIN,                   "tr strt",        "tr strt"     },
		{BRANCH | ANA_FLOW_TRACE_END,                     "tr end",         "tr end"      },
		{CALL | ANA_FLOW_TRACE_END,                       "tr end  call",   "tr end  call"},
		{BRANCH | ANA_FLOW_INDIRECT | ANA_FLOW_TRACE_END, "tr end  return", "tr end"      },
		{0,					       "",               ""            },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		buf_clear(&out);
		script_flow_name(&out, rows[i].flow, false);
		CHECK_STR(buf_cstr(&out), rows[i].name, "flow %x as perf names it", rows[i].flow);
		buf_clear(&out);
		script_flow_name(&out, rows[i].flow, true);
		CHECK_STR(buf_cstr(&out), rows[i].exact, "and as it is");
	}
	buf_clear(&out);
	script_add_flow(&out, &(struct ana_synth){.flow = CALL});
	script_add_flow(&out, NULL);
	CHECK_STR(buf_cstr(&out), "  call                                          ",
		  "the column is 24 wide, also without");
}

static void numbers(void)
{
	const struct ana_synth error = {.error = "Overflow packet", .error_code = 7};
	struct ana_event e = {
		.time = {1234000000005}, .cpu = 3, .pid = 10, .tid = 11, .synth = &error};
	struct ana_synth at = error;

	buf_clear(&out);
	script_add_ipc(&out, &(struct ana_synth){.nr_insns = 10, .nr_cycles = 8});
	CHECK_STR(buf_cstr(&out), " \t IPC: 1.25 (10/8) ", "instructions a cycle");
	buf_clear(&out);
	script_add_ipc(&out, &(struct ana_synth){.nr_insns = 10});
	CHECK_EQ(out.nr, 0, "none where cycles are not counted");
	script_add_paused(&out, NULL);
	script_add_paused(&out, &(struct ana_synth){0});
	CHECK_EQ(out.nr, 0, "what ran in an interval of tracing has no mark");
	script_add_paused(&out, &(struct ana_synth){.is_paused = true});
	CHECK_STR(buf_cstr(&out), " [paused]", "what ran outside has");
	buf_clear(&out);
	script_add_trace_error(&out, &e);
	CHECK_STR(
		buf_cstr(&out),
		" instruction trace error type 1 time 1234.000000005 cpu 3 pid 10 tid 11 ip 0 code 7: "
		"Overflow packet\n",
		"an error");
	at.error_ip = 0x1f0;
	at.error_why = "why";
	e = (struct ana_event){.time = clew_perf_ns_none(),
			       .cpu = UINT32_MAX,
			       .pid = UINT32_MAX,
			       .tid = UINT32_MAX,
			       .synth = &at};
	buf_clear(&out);
	script_add_trace_error(&out, &e);
	CHECK_STR(
		buf_cstr(&out),
		" instruction trace error type 1 time 0 cpu -1 pid -1 tid -1 ip 0x1f0 code 7: Overflow "
		"packet: why\n",
		"with its place, and no known thread");
}

static void disassembly(void)
{
	static const struct {
		struct ana_synth insn;
		const char *text;
	} rows[] = {
		{{.isa = ANA_A64, .insn_bytes = 4, .insn = {0xc0, 0x03, 0x5f, 0xd6}}, "ret"       },
		{{.isa = ANA_A64, .insn_bytes = 4, .insn = {0x02, 0x00, 0x00, 0x14}}, "b #0x1008" },
		{{.isa = ANA_A32, .insn_bytes = 4, .insn = {0x1e, 0xff, 0x2f, 0xe1}}, "bx lr"     },
		{{.isa = ANA_T32, .insn_bytes = 2, .insn = {0x70, 0x47}},             "bx lr"     },
		{{.isa = ANA_T32, .insn_bytes = 4, .insn = {0x00, 0xf0, 0x00, 0xf8}}, "bl #0x1004"},
	};
	struct insn_text *d = insn_text_new();

	if (!insn_text_is_there()) {
		SKIP("built without capstone");
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct ana_synth *y = &rows[i].insn;

		buf_clear(&out);
		CHECK(insn_text_add(d, (enum isa)y->isa, y->insn, y->insn_bytes, 0x1000, &out),
		      "an instruction");
		CHECK_STR(buf_cstr(&out), rows[i].text, "its text");
	}
	buf_clear(&out);
	CHECK(!insn_text_add(d, ISA_A64, (const uint8_t[4]){0}, 4, 0, &out) && !out.nr,
	      "bytes that are none");
	insn_text_free(d);
}

int main(void)
{
	flows();
	numbers();
	disassembly();
	buf_done(&out);
	return tap_done();
}
