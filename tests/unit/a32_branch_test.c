// SPDX-License-Identifier: LGPL-2.1-or-later
#include "isa/a32/a32_branch.h"

#include <inttypes.h>

#include "make/splitmix.h"
#include "tap.h"

#define PC UINT64_C(0x8000)

enum { FAIL = INSN_MAY_FAIL, SWITCH = INSN_LINK | INSN_SWITCH };

struct insn_case {
	const char *text;
	uint32_t word; /* T32: first halfword << 16 | second, 0 where there is none */
	uint8_t kind, flags;
	uint64_t target; /* from PC */
};

static const struct insn_case a32_cases[] = {
	{"b .",				   0xeafffffe, INSN_BRANCH,   0,                PC            },
	{"b +32M+4",			      0xea7fffff, INSN_BRANCH,   0,                PC + 0x2000004},
	{"b -32M+8, wraps",                       0xea800000, INSN_BRANCH,   0,                0xfe008008    },
	{"bne +8",				0x1a000000, INSN_COND,     FAIL,             PC + 8        },
	{"bl +12",				0xeb000001, INSN_BRANCH,   INSN_LINK,        PC + 12       },
	{"bleq +12",			      0x0b000001, INSN_COND,     INSN_LINK | FAIL, PC + 12       },
	{"blx +8",				0xfa000000, INSN_BRANCH,   SWITCH,           PC + 8        },
	{"blx +10",			       0xfb000000, INSN_BRANCH,   SWITCH,           PC + 10       },
	{"blx -2",				0xfbfffffd, INSN_BRANCH,   SWITCH,           PC - 2        },
	{"bx lr",				 0xe12fff1e, INSN_INDIRECT, INSN_RET,         0             },
	{"bxne lr",			       0x112fff1e, INSN_INDIRECT, INSN_RET | FAIL,  0             },
	{"bx r3",				 0xe12fff13, INSN_INDIRECT, 0,                0             },
	{"blx r3",				0xe12fff33, INSN_INDIRECT, INSN_LINK,        0             },
	{"blx lr",				0xe12fff3e, INSN_INDIRECT, INSN_LINK,        0             },
	{"bxj r3",				0xe12fff23, INSN_INDIRECT, 0,                0             },
	{"eret",				  0xe160006e, INSN_INDIRECT, INSN_ERET,        0             },
	{"rfeia r0!",			     0xf8b00a00, INSN_INDIRECT, INSN_ERET,        0             },
	{"rfedb sp",			      0xf91d0a00, INSN_INDIRECT, INSN_ERET,        0             },
	{"rfeib r1",			      0xf9910a00, INSN_INDIRECT, INSN_ERET,        0             },
 /* loads */
	{"pop {pc}",			      0xe49df004, INSN_INDIRECT, INSN_RET,         0             },
	{"ldrne pc, [sp], #4",                    0x149df004, INSN_INDIRECT, INSN_RET | FAIL,  0             },
	{"ldr pc, [sp, #4]!",                     0xe5bdf004, INSN_INDIRECT, 0,                0             },
	{"ldr pc, [sp], #-4",                     0xe41df004, INSN_INDIRECT, 0,                0             },
	{"ldr pc, [r1]",			  0xe591f000, INSN_INDIRECT, 0,                0             },
	{"ldr pc, [pc, #8]",                      0xe59ff008, INSN_INDIRECT, 0,                0             },
	{"ldr pc, [pc, #-4]",                     0xe51ff004, INSN_INDIRECT, 0,                0             },
	{"ldr pc, [pc, r0, lsl #2]",              0xe79ff100, INSN_INDIRECT, 0,                0             },
	{"pop {r4, pc}",			  0xe8bd8010, INSN_INDIRECT, INSN_RET,         0             },
	{"popne {r4, pc}",                        0x18bd8010, INSN_INDIRECT, INSN_RET | FAIL,  0             },
	{"ldm r0, {r1, pc}",                      0xe8908002, INSN_INDIRECT, 0,                0             },
	{"ldm r0!, {r1, pc}",                     0xe8b08002, INSN_INDIRECT, 0,                0             },
	{"ldmdb r0, {r1, pc}",                    0xe9108002, INSN_INDIRECT, 0,                0             },
	{"ldmda r0, {r1, pc}",                    0xe8108002, INSN_INDIRECT, 0,                0             },
	{"ldmib sp!, {r4, pc}",                   0xe9bd8010, INSN_INDIRECT, 0,                0             },
	{"ldmdb fp, {fp, sp, pc}",                0xe91ba800, INSN_INDIRECT, 0,                0             },
	{"ldm r0, {r1, pc}^",                     0xe8d08002, INSN_INDIRECT, INSN_ERET,        0             },
	{"ldm sp!, {r0, pc}^",                    0xe8fd8001, INSN_INDIRECT, INSN_ERET,        0             },
 /* data processing */
	{"mov pc, lr",			    0xe1a0f00e, INSN_INDIRECT, INSN_RET,         0             },
	{"moveq pc, lr",			  0x01a0f00e, INSN_INDIRECT, INSN_RET | FAIL,  0             },
	{"movs pc, lr",			   0xe1b0f00e, INSN_INDIRECT, INSN_ERET,        0             },
	{"mov pc, r3",			    0xe1a0f003, INSN_INDIRECT, 0,                0             },
	{"lsl pc, r3, #2",                        0xe1a0f103, INSN_INDIRECT, 0,                0             },
	{"mov pc, #0",			    0xe3a0f000, INSN_INDIRECT, 0,                0             },
	{"add pc, pc, r1, lsl #2",                0xe08ff101, INSN_INDIRECT, 0,                0             },
	{"addls pc, pc, r3, lsl #2",              0x908ff103, INSN_INDIRECT, FAIL,             0             },
	{"sub pc, lr, #4",                        0xe24ef004, INSN_INDIRECT, 0,                0             },
	{"subs pc, lr, #4",                       0xe25ef004, INSN_INDIRECT, INSN_ERET,        0             },
	{"mvn pc, r0",			    0xe1e0f000, INSN_INDIRECT, 0,                0             },
	{"orr pc, r0, r1",                        0xe180f001, INSN_INDIRECT, 0,                0             },
	{"andeq pc, r0, #1",                      0x0200f001, INSN_INDIRECT, FAIL,             0             },
	{"adr pc, +8 (add pc, pc, #0)",           0xe28ff000, INSN_INDIRECT, 0,                0             },
 /* no branches */
	{"isb",				   0xf57ff06f, INSN_ISB,      0,                0             },
	{"mcr p15, 0, r0, c7, c5, 4",             0xee070f95, INSN_ISB,      0,                0             },
	{"mcrne p15, 0, r3, c7, c5, 4",           0x1e073f95, INSN_ISB,      FAIL,             0             },
	{"wfe",				   0xe320f002, INSN_WFX,      0,                0             },
	{"wfi",				   0xe320f003, INSN_WFX,      0,                0             },
	{"wfine",				 0x1320f003, INSN_WFX,      FAIL,             0             },
 /* nothing */
	{"svc #0",				0xef000000, 0,             0,                0             },
	{"hvc #0",				0xe1400070, 0,             0,                0             },
	{"smc #0",				0xe1600070, 0,             0,                0             },
	{"bkpt #0",			       0xe1200070, 0,             0,                0             },
	{"hlt #0",				0xe1000070, 0,             0,                0             },
	{"udf #0",				0xe7f000f0, 0,             0,                0             },
	{"dsb",				   0xf57ff04f, 0,             0,                0             },
	{"dmb",				   0xf57ff05f, 0,             0,                0             },
	{"sb",				    0xf57ff070, 0,             0,                0             },
	{"mcr p15, 0, r0, c7, c10, 4",            0xee070f9a, 0,             0,                0             },
	{"nop",				   0xe320f000, 0,             0,                0             },
	{"yield",				 0xe320f001, 0,             0,                0             },
	{"sev",				   0xe320f004, 0,             0,                0             },
	{"msr cpsr_c, #0x13",                     0xe321f013, 0,             0,                0             },
	{"msr spsr_fsxc, r0",                     0xe16ff000, 0,             0,                0             },
	{"mrs r0, cpsr",			  0xe10f0000, 0,             0,                0             },
	{"movw r0, #1",			   0xe3000001, 0,             0,                0             },
	{"cmp r0, #1",			    0xe3500001, 0,             0,                0             },
	{"cmp pc, r1",			    0xe15f0001, 0,             0,                0             },
	{"cmpp r0, r1 (Rd is pc)",                0xe150f001, 0,             0,                0             },
	{"teqp r0, #0 (Rd is pc)",                0xe330f000, 0,             0,                0             },
	{"str pc, [r0]",			  0xe580f000, 0,             0,                0             },
	{"stm sp!, {r0, pc}",                     0xe8ad8001, 0,             0,                0             },
	{"ldm r0, {r1, lr}",                      0xe8904002, 0,             0,                0             },
	{"ldrb r0, [pc]",                         0xe5df0000, 0,             0,                0             },
	{"ldrt pc, [r0], #4 (unpredictable)",     0xe4b0f004, 0,             0,                0             },
	{"mul r0, r1, r2",                        0xe0000291, 0,             0,                0             },
	{"mul r0, r0, r1 (Ra is pc)",             0xe000f190, 0,             0,                0             },
	{"smull pc, r1, r2, r3 (unpredictable)",  0xe0c1f392, 0,             0,                0             },
	{"smlabb r1, r2, r3, pc (unpredictable)", 0xe101f382, 0,             0,                0             },
	{"strh pc, [r0] (unpredictable)",         0xe1c0f0b0, 0,             0,                0             },
	{"ldrex r0, [r1]",                        0xe1910f9f, 0,             0,                0             },
	{"clz r0, r1",			    0xe16f0f11, 0,             0,                0             },
	{"smuad r0, r1, r2 (Ra is pc)",           0xe700f211, 0,             0,                0             },
	{"cps #0x13",			     0xf1020013, 0,             0,                0             },
	{"srsdb sp!, #0x13",                      0xf96d0513, 0,             0,                0             },
	{"pld [r0]",			      0xf5d0f000, 0,             0,                0             },
	{"vldr d0, [pc]",                         0xed9f0b00, 0,             0,                0             },
	{"mrc p15, 0, apsr_nzcv, c0, c0, 0",      0xee10ff10, 0,             0,                0             },
	{"all zeros (andeq r0, r0, r0)",          0x00000000, 0,             0,                0             },
	{"all ones",			      0xffffffff, 0,             0,                0             },
};

static const struct insn_case t32_cases[] = {
	{"beq -256",			  0xd0800000, INSN_COND,     0,         PC + 4 - 256     },
	{"ble +254",			  0xdd7f0000, INSN_COND,     0,         PC + 4 + 254     },
	{"b .",			       0xe7fe0000, INSN_BRANCH,   0,         PC               },
	{"b +2046",			   0xe3ff0000, INSN_BRANCH,   0,         PC + 4 + 2046    },
	{"b -2048",			   0xe4000000, INSN_BRANCH,   0,         PC + 4 - 2048    },
	{"beq.w +4",			  0xf0008000, INSN_COND,     0,         PC + 4           },
	{"bne.w -2",			  0xf47faffd, INSN_COND,     0,         PC - 2           },
	{"ble.w -1M",			 0xf7408000, INSN_COND,     0,         0xfff08004       },
	{"blt.w +J1 (256K)",                  0xf2c0a000, INSN_COND,     0,         PC + 4 + 0x40000 },
	{"blt.w +J2 (512K)",                  0xf2c08800, INSN_COND,     0,         PC + 4 + 0x80000 },
	{"b.w +4",			    0xf000b800, INSN_BRANCH,   0,         PC + 4           },
	{"b.w -2",			    0xf7ffbffd, INSN_BRANCH,   0,         PC - 2           },
	{"b.w +16M-2",			0xf3ff97ff, INSN_BRANCH,   0,         PC + 4 + 0xfffffe},
	{"b.w -16M",			  0xf4009000, INSN_BRANCH,   0,         0xff008004       },
	{"bl +4",			     0xf000f800, INSN_BRANCH,   INSN_LINK, PC + 4           },
	{"bl +4M (I2)",                       0xf000f000, INSN_BRANCH,   INSN_LINK, PC + 4 + 0x400000},
	{"bl +8M (I1)",                       0xf000d800, INSN_BRANCH,   INSN_LINK, PC + 4 + 0x800000},
	{"blx +4",			    0xf000e800, INSN_BRANCH,   SWITCH,    PC + 4           },
	{"blx -4",			    0xf7ffeffc, INSN_BRANCH,   SWITCH,    PC - 4           },
	{"cbz r0, +4",			0xb1000000, INSN_COND,     0,         PC + 4           },
	{"cbz r7, +130",                      0xb3ff0000, INSN_COND,     0,         PC + 4 + 126     },
	{"cbnz r1, +6",                       0xb9090000, INSN_COND,     0,         PC + 6           },
	{"cbnz r1, +68",                      0xbb010000, INSN_COND,     0,         PC + 68          },
	{"bx lr",			     0x47700000, INSN_INDIRECT, INSN_RET,  0                },
	{"bx r3",			     0x47180000, INSN_INDIRECT, 0,         0                },
	{"bx pc",			     0x47780000, INSN_INDIRECT, 0,         0                },
	{"blx r3",			    0x47980000, INSN_INDIRECT, INSN_LINK, 0                },
	{"blx lr",			    0x47f00000, INSN_INDIRECT, INSN_LINK, 0                },
	{"mov pc, lr",			0x46f70000, INSN_INDIRECT, INSN_RET,  0                },
	{"mov pc, r3",			0x469f0000, INSN_INDIRECT, 0,         0                },
	{"add pc, r3",			0x449f0000, INSN_INDIRECT, 0,         0                },
	{"add pc, lr",			0x44f70000, INSN_INDIRECT, 0,         0                },
	{"pop {pc}",			  0xbd000000, INSN_INDIRECT, INSN_RET,  0                },
	{"pop {r4, r7, pc}",                  0xbd900000, INSN_INDIRECT, INSN_RET,  0                },
	{"pop.w {r4, r8, pc}",                0xe8bd8110, INSN_INDIRECT, INSN_RET,  0                },
	{"ldm.w r0, {r1, pc}",                0xe8908002, INSN_INDIRECT, 0,         0                },
	{"ldm.w r0!, {r1, pc}",               0xe8b08002, INSN_INDIRECT, 0,         0                },
	{"ldmdb r0!, {r1, pc}",               0xe9308002, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [r1, #4]",                0xf8d1f004, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [pc, #8]",                0xf8dff008, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [pc, #-8]",               0xf85ff008, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [sp], #4",                0xf85dfb04, INSN_INDIRECT, INSN_RET,  0                },
	{"ldr.w pc, [sp], #-4",               0xf85df904, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [r1, #-4]",               0xf851fc04, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [r1, #4]!",               0xf851ff04, INSN_INDIRECT, 0,         0                },
	{"ldr.w pc, [r1, r2, lsl #2]",        0xf851f022, INSN_INDIRECT, 0,         0                },
	{"tbb [pc, r0]",                      0xe8dff000, INSN_INDIRECT, 0,         0                },
	{"tbh [r1, r0, lsl #1]",              0xe8d1f010, INSN_INDIRECT, 0,         0                },
	{"rfeia r0!",			 0xe9b0c000, INSN_INDIRECT, INSN_ERET, 0                },
	{"rfeia r0",			  0xe990c000, INSN_INDIRECT, INSN_ERET, 0                },
	{"rfedb sp!",			 0xe83dc000, INSN_INDIRECT, INSN_ERET, 0                },
	{"rfedb r1",			  0xe811c000, INSN_INDIRECT, INSN_ERET, 0                },
	{"bxj r3",			    0xf3c38f00, INSN_INDIRECT, 0,         0                },
	{"subs pc, lr, #4",                   0xf3de8f04, INSN_INDIRECT, INSN_ERET, 0                },
	{"eret",			      0xf3de8f00, INSN_INDIRECT, INSN_ERET, 0                },
 /* v8-M */
	{"bxns r3",			   0x471c0000, INSN_INDIRECT, 0,         0                },
	{"bxns lr",			   0x47740000, INSN_INDIRECT, INSN_RET,  0                },
	{"blxns r3",			  0x479c0000, INSN_INDIRECT, INSN_LINK, 0                },
	{"le lr, -4",			 0xf00fc003, INSN_COND,     0,         PC + 4 - 4       },
	{"le lr, -4094",                      0xf00fcfff, INSN_COND,     0,         PC + 4 - 4094    },
	{"letp lr, -6",                       0xf01fc803, INSN_COND,     0,         PC + 4 - 6       },
	{"le -4",			     0xf02fc003, INSN_BRANCH,   0,         PC + 4 - 4       },
	{"wls lr, r0, +4",                    0xf040c003, INSN_COND,     0,         PC + 4 + 4       },
	{"wls lr, r3, +4094",                 0xf043cfff, INSN_COND,     0,         PC + 4 + 4094    },
	{"wlstp.8 lr, r0, +4",                0xf000c003, INSN_COND,     0,         PC + 4 + 4       },
 /* no branches */
	{"isb",			       0xf3bf8f6f, INSN_ISB,      0,         0                },
	{"isb #0",			    0xf3bf8f60, INSN_ISB,      0,         0                },
	{"mcr p15, 0, r0, c7, c5, 4",         0xee070f95, INSN_ISB,      0,         0                },
	{"wfi",			       0xbf300000, INSN_WFX,      0,         0                },
	{"wfe",			       0xbf200000, INSN_WFX,      0,         0                },
	{"wfi.w",			     0xf3af8003, INSN_WFX,      0,         0                },
	{"wfe.w",			     0xf3af8002, INSN_WFX,      0,         0                },
 /* nothing */
	{"svc #0",			    0xdf000000, 0,             0,         0                },
	{"udf #0",			    0xde000000, 0,             0,         0                },
	{"udf.w #0",			  0xf7f0a000, 0,             0,         0                },
	{"bkpt #0",			   0xbe000000, 0,             0,         0                },
	{"hlt #0",			    0xba800000, 0,             0,         0                },
	{"hvc #0",			    0xf7e08000, 0,             0,         0                },
	{"smc #1",			    0xf7f18000, 0,             0,         0                },
	{"dcps1",			     0xf78f8001, 0,             0,         0                },
	{"nop",			       0xbf000000, 0,             0,         0                },
	{"yield",			     0xbf100000, 0,             0,         0                },
	{"sev",			       0xbf400000, 0,             0,         0                },
	{"it eq",			     0xbf080000, 0,             0,         0                },
	{"itt hs (as wfe but for the mask)",  0xbf240000, 0,             0,         0                },
	{"nop.w",			     0xf3af8000, 0,             0,         0                },
	{"csdb",			      0xf3af8014, 0,             0,         0                },
	{"dsb sy",			    0xf3bf8f4f, 0,             0,         0                },
	{"dmb sy",			    0xf3bf8f5f, 0,             0,         0                },
	{"sb",				0xf3bf8f70, 0,             0,         0                },
	{"clrex",			     0xf3bf8f2f, 0,             0,         0                },
	{"mrs r0, cpsr",                      0xf3ef8000, 0,             0,         0                },
	{"msr cpsr_c, r0",                    0xf3808100, 0,             0,         0                },
	{"cpsid i",			   0xb6720000, 0,             0,         0                },
	{"pop {r4}",			  0xbc100000, 0,             0,         0                },
	{"push {lr}",			 0xb5000000, 0,             0,         0                },
	{"mov r3, pc",			0x467b0000, 0,             0,         0                },
	{"adr r0, +4",			0xa0010000, 0,             0,         0                },
	{"stm.w r0, {r1, lr}",                0xe8804002, 0,             0,         0                },
	{"srsia sp!, #19",                    0xe9adc013, 0,             0,         0                },
	{"ldrd r0, r1, [r2]",                 0xe9d20100, 0,             0,         0                },
	{"ldrex r0, [r1]",                    0xe8510f00, 0,             0,         0                },
	{"ldrexb r0, [r1]",                   0xe8d10f4f, 0,             0,         0                },
	{"ldrt pc, [r1, #4] (unpredictable)", 0xf851fe04, 0,             0,         0                },
	{"pld [r0]",			  0xf890f000, 0,             0,         0                },
	{"pli [pc, #4]",                      0xf99ff004, 0,             0,         0                },
	{"tst.w r0, r1 (Rd is pc)",           0xea100f01, 0,             0,         0                },
	{"cmp.w r0, #1 (Rd is pc)",           0xf1b00f01, 0,             0,         0                },
	{"clrm {r0, apsr}",                   0xe89f8001, 0,             0,         0                },
	{"vctp.8 r1",			 0xf001e801, 0,             0,         0                },
	{"dls lr, r0",			0xf040e001, 0,             0,         0                },
	{"dlstp.8 lr, r0",                    0xf000e001, 0,             0,         0                },
	{"lctp",			      0xf00fe001, 0,             0,         0                },
	{"bf +4, +8",			 0xf140e005, 0,             0,         0                },
	{"bfl +4, +8",			0xf100c005, 0,             0,         0                },
	{"sg",				0xe97fe97f, 0,             0,         0                },
};

static bool is_as(const struct insn_case *c, const struct insn *i, uint8_t bytes)
{
	return i->kind == c->kind && i->flags == c->flags && i->target == c->target &&
	       i->bytes == bytes;
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(a32_cases) / sizeof(a32_cases[0]); i++) {
		const struct insn_case *c = &a32_cases[i];
		struct insn got = a32_decode(c->word, PC);

		CHECK(is_as(c, &got, 4), "A32 %08" PRIx32 " %s", c->word, c->text);
	}
	for (size_t i = 0; i < sizeof(t32_cases) / sizeof(t32_cases[0]); i++) {
		const struct insn_case *c = &t32_cases[i];
		struct insn got = t32_decode(c->word, PC);

		CHECK(is_as(c, &got, c->word >> 27 >= 0x1d ? 4 : 2), "T32 %08" PRIx32 " %s",
		      c->word, c->text);
	}
}

/** BLX counts from the word that the instruction is in. */
static void test_alignment(void)
{
	CHECK_EQ(t32_decode(0xf000e800, 0x8002).target, 0x8004, "blx +4 at ..2");
	CHECK_EQ(t32_decode(0xf000e800, 0x8004).target, 0x8008, "blx +4 at ..4");
	CHECK_EQ(t32_decode(0xf000f800, 0x8002).target, 0x8006, "bl +4 at ..2");
	CHECK_EQ(a32_decode(0xeafffffc, 0).target, 0xfffffff8, "b -8 at 0 wraps in 32 bits");
	CHECK_EQ(t32_decode(0xe7fd0000, 0).target, 0xfffffffe, "b -2 at 0 wraps in 32 bits");
	CHECK_EQ(a32_decode(0xea000000, 0xfffffff8).target, 0, "b +8 at the end");
}

/** The second halfword of a short instruction is another one's. */
static void test_short(void)
{
	unsigned int nr_wrong = 0;

	for (uint32_t first = 0; first < 0xe800; first++) {
		struct insn zeros = t32_decode(first << 16, PC), ones;

		ones = t32_decode(first << 16 | 0xffff, PC);
		nr_wrong += zeros.kind != ones.kind || zeros.flags != ones.flags ||
			    zeros.bytes != 2 || ones.bytes != 2 || zeros.target != ones.target;
	}
	CHECK_EQ(nr_wrong, 0, "59392 halfwords: two bytes long, whatever follows");
}

static void test_it(void)
{
	static const struct {
		const char *text;
		uint16_t first;
		unsigned int nr;
	} cases[] = {
		{"it eq",    0xbf08, 1},
                {"itt eq",   0xbf04, 2},
                {"ite ne",   0xbf14, 2},
		{"itet",     0xbf0a, 3},
                {"itett mi", 0xbf49, 4},
                {"itttt al", 0xbfe1, 4},
		{"nop",      0xbf00, 0},
                {"wfi",      0xbf30, 0},
                {"cbz",      0xb108, 0},
		{"bkpt #8",  0xbe08, 0}
        };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_EQ(t32_it_length(cases[i].first), cases[i].nr, "%s: %u instructions",
			 cases[i].text, cases[i].nr);
}

static void test_find(void)
{
	static const uint8_t a32[] = {
		0x00, 0xf0, 0x20, 0xe3, /* nop */
		0x03, 0xf0, 0x20, 0xe3, /* wfi */
		0x00, 0x00, 0x00, 0xef, /* svc */
		0x1e, 0xff, 0x2f, 0x11, /* bxne lr */
	};
	static const uint8_t t32[] = {
		0x00, 0xbf,             /* nop */
		0xaf, 0xf3, 0x00, 0x80, /* nop.w */
		0x30, 0xbf,             /* wfi */
		0x08, 0xbf,             /* it eq */
		0x00, 0xbd,             /* popeq {pc} */
		0x00, 0xf0, 0x00, 0xb8, /* b.w */
	};
	uint32_t nr;

	CHECK_EQ(a32_find_waypoint(a32, sizeof(a32), true), 4, "A32: WFI");
	CHECK_EQ(a32_find_waypoint(a32, sizeof(a32), false), 12, "A32: else BX");
	CHECK_EQ(a32_find_waypoint(a32, 11, false), 8, "A32: none, and part of one");
	CHECK_EQ(a32_find_waypoint(a32, 0, false), 0, "A32: nothing");
	CHECK_EQ(t32_find_waypoint(t32, sizeof(t32), true, &nr), 6, "T32: WFI");
	CHECK_EQ(nr, 2, "T32: two instructions in front");
	CHECK_EQ(t32_find_waypoint(t32, sizeof(t32), false, &nr), 10, "T32: else POP");
	CHECK_EQ(nr, 4, "T32: four in front");
	CHECK_EQ(t32_find_waypoint(t32 + 12, 4, false, &nr), 0, "T32: a long one at once");
	CHECK_EQ(nr, 0, "T32: none in front");
	CHECK_EQ(t32_find_waypoint(t32 + 12, 3, false, &nr), 0, "T32: a long one cut is none");
	CHECK_EQ(nr, 0, "T32: nothing before it");
	CHECK_EQ(t32_find_waypoint(t32, 5, false, &nr), 2, "T32: NOP.W is cut");
	CHECK_EQ(nr, 1, "T32: NOP before it");
	CHECK_EQ(t32_find_waypoint(t32, 1, false, &nr), 0, "T32: half a halfword");
	CHECK_EQ(nr, 0, "T32: none");
}

/** Conditions 0 to 13 fail sometimes: no word of theirs is sure to branch. */
static void test_conditions(void)
{
	uint64_t z = 7;
	unsigned int nr_wrong = 0;

	for (uint32_t i = 0; i < 1 << 20; i++) {
		uint32_t word, cond;
		struct insn insn;
		bool may_fail;

		word = (uint32_t)splitmix64(&z);
		cond = word >> 28;
		insn = a32_decode(word, 0);
		may_fail = insn.flags & INSN_MAY_FAIL;
		nr_wrong += insn.kind == INSN_PLAIN ? insn.flags != 0 : may_fail != (cond < 14);
		nr_wrong += insn.kind == INSN_BRANCH && cond < 14;
	}
	CHECK_EQ(nr_wrong, 0,
		 "1048576 words: a condition, and only that, makes a waypoint one "
		 "that may fail");
}

int main(void)
{
	test_cases();
	test_alignment();
	test_short();
	test_it();
	test_find();
	test_conditions();
	return tap_done();
}
