// SPDX-License-Identifier: LGPL-2.1-or-later
#include "isa/a64/a64_branch.h"

#include <inttypes.h>
#include <stdbool.h>

#include "make/splitmix.h"
#include "tap.h"

#define PC UINT64_C(0x400000)

struct insn_case {
	const char *text;
	uint32_t word;
	uint8_t kind, flags;
	uint64_t target; /* from PC */
};

static const struct insn_case waypoints[] = {
	{"b .",		  0x14000000, INSN_BRANCH,   0,         PC            },
	{"b +4",		 0x14000001, INSN_BRANCH,   0,         PC + 4        },
	{"b -4",		 0x17ffffff, INSN_BRANCH,   0,         PC - 4        },
	{"b +128M-4",            0x15ffffff, INSN_BRANCH,   0,         PC + 0x7fffffc},
	{"b -128M",              0x16000000, INSN_BRANCH,   0,         PC - 0x8000000},
	{"bl +0x1000",           0x94000400, INSN_BRANCH,   INSN_LINK, PC + 0x1000   },
	{"bl -4",                0x97ffffff, INSN_BRANCH,   INSN_LINK, PC - 4        },
	{"b.eq +8",              0x54000040, INSN_COND,     0,         PC + 8        },
	{"b.nv -4",              0x54ffffef, INSN_COND,     0,         PC - 4        },
	{"b.ne -1M",             0x54800001, INSN_COND,     0,         PC - 0x100000 },
	{"bc.eq +8",             0x54000050, INSN_COND,     0,         PC + 8        },
	{"bc.al +1M-4",          0x547ffffe, INSN_COND,     0,         PC + 0xffffc  },
	{"cbz w0, +8",           0x34000040, INSN_COND,     0,         PC + 8        },
	{"cbz x0, -4",           0xb4ffffe0, INSN_COND,     0,         PC - 4        },
	{"cbnz w31, +0x40",      0x3500021f, INSN_COND,     0,         PC + 0x40     },
	{"cbnz x7, +1M-4",       0xb57fffe7, INSN_COND,     0,         PC + 0xffffc  },
	{"tbz w1, #3, +4",       0x36180021, INSN_COND,     0,         PC + 4        },
	{"tbz x1, #63, -4",      0xb6ffffe1, INSN_COND,     0,         PC - 4        },
	{"tbnz w0, #0, -32K",    0x37040000, INSN_COND,     0,         PC - 0x8000   },
	{"tbnz x2, #32, +32K-4", 0xb703ffe2, INSN_COND,     0,         PC + 0x7ffc   },
 /* FEAT_CMPBR */
	{"cbgt w0, w1, +8",      0x74010040, INSN_COND,     0,         PC + 8        },
	{"cbge x3, x4, -4",      0xf4243fe3, INSN_COND,     0,         PC - 4        },
	{"cbhi w0, w1, +1020",   0x74411fe0, INSN_COND,     0,         PC + 1020     },
	{"cbhs x0, x1, -1024",   0xf4612000, INSN_COND,     0,         PC - 1024     },
	{"cbeq w5, w6, +8",      0x74c60045, INSN_COND,     0,         PC + 8        },
	{"cbne x5, x6, +8",      0xf4e60045, INSN_COND,     0,         PC + 8        },
	{"cbbgt w0, w1, +8",     0x74018040, INSN_COND,     0,         PC + 8        },
	{"cbbne w0, w1, -4",     0x74e1bfe0, INSN_COND,     0,         PC - 4        },
	{"cbhgt w0, w1, +8",     0x7401c040, INSN_COND,     0,         PC + 8        },
	{"cbhhs w0, w1, -4",     0x7461ffe0, INSN_COND,     0,         PC - 4        },
	{"cbgt w0, #1, +8",      0x75008040, INSN_COND,     0,         PC + 8        },
	{"cblt x0, #63, -4",     0xf53fbfe0, INSN_COND,     0,         PC - 4        },
	{"cblo w0, #0, +1020",   0x75601fe0, INSN_COND,     0,         PC + 1020     },
	{"cbne x2, #5, -1024",   0xf5e2a002, INSN_COND,     0,         PC - 1024     },
 /* registers */
	{"br x16",               0xd61f0200, INSN_INDIRECT, 0,         0             },
	{"blr x30",              0xd63f03c0, INSN_INDIRECT, INSN_LINK, 0             },
	{"ret",		  0xd65f03c0, INSN_INDIRECT, INSN_RET,  0             },
	{"ret x17",              0xd65f0220, INSN_INDIRECT, INSN_RET,  0             },
	{"eret",		 0xd69f03e0, INSN_INDIRECT, INSN_ERET, 0             },
 /* FEAT_PAuth */
	{"braa x1, x2",          0xd71f0822, INSN_INDIRECT, 0,         0             },
	{"brab x1, sp",          0xd71f0c3f, INSN_INDIRECT, 0,         0             },
	{"braaz x3",             0xd61f087f, INSN_INDIRECT, 0,         0             },
	{"brabz x3",             0xd61f0c7f, INSN_INDIRECT, 0,         0             },
	{"blraa x1, x2",         0xd73f0822, INSN_INDIRECT, INSN_LINK, 0             },
	{"blrab x30, sp",        0xd73f0fdf, INSN_INDIRECT, INSN_LINK, 0             },
	{"blraaz x3",            0xd63f087f, INSN_INDIRECT, INSN_LINK, 0             },
	{"blrabz x3",            0xd63f0c7f, INSN_INDIRECT, INSN_LINK, 0             },
	{"retaa",                0xd65f0bff, INSN_INDIRECT, INSN_RET,  0             },
	{"retab",                0xd65f0fff, INSN_INDIRECT, INSN_RET,  0             },
	{"eretaa",               0xd69f0bff, INSN_INDIRECT, INSN_ERET, 0             },
	{"eretab",               0xd69f0fff, INSN_INDIRECT, INSN_ERET, 0             },
 /* FEAT_PAuth_LR */
	{"retaasppcr x1",        0xd65f0be1, INSN_INDIRECT, INSN_RET,  0             },
	{"retabsppcr x30",       0xd65f0ffe, INSN_INDIRECT, INSN_RET,  0             },
	{"retaasppc -4",         0x5500003f, INSN_INDIRECT, INSN_RET,  0             },
	{"retabsppc -0x3fffc",   0x553fffff, INSN_INDIRECT, INSN_RET,  0             },
	{"texit",                0xd6ff03e0, INSN_INDIRECT, INSN_ERET, 0             },
	{"texit nb",             0xd6ff07e0, INSN_INDIRECT, INSN_ERET, 0             },
 /* no branches */
	{"isb",		  0xd5033fdf, INSN_ISB,      0,         0             },
	{"isb #0",               0xd50330df, INSN_ISB,      0,         0             },
	{"wfe",		  0xd503205f, INSN_WFX,      0,         0             },
	{"wfi",		  0xd503207f, INSN_WFX,      0,         0             },
	{"wfet x0",              0xd5031000, INSN_WFX,      0,         0             },
	{"wfit x30",             0xd503103e, INSN_WFX,      0,         0             },
	{"tstart x0",            0xd5233060, INSN_TSTART,   0,         0             },
	{"tstart xzr",           0xd523307f, INSN_TSTART,   0,         0             },
};

static const struct insn_case others[] = {
	{"svc #0",			0xd4000001, 0, 0, 0},
	{"hvc #0",			0xd4000002, 0, 0, 0},
	{"smc #0",			0xd4000003, 0, 0, 0},
	{"brk #1",			0xd4200020, 0, 0, 0},
	{"hlt #0",			0xd4400000, 0, 0, 0},
	{"dcps1",			 0xd4a00001, 0, 0, 0},
	{"drps",			  0xd6bf03e0, 0, 0, 0},
	{"udf #0",			0x00000000, 0, 0, 0},
	{"nop",			   0xd503201f, 0, 0, 0},
	{"yield",			 0xd503203f, 0, 0, 0},
	{"sev",			   0xd503209f, 0, 0, 0},
	{"sevl",			  0xd50320bf, 0, 0, 0},
	{"pacibsp",		       0xd503237f, 0, 0, 0},
	{"bti c",			 0xd503245f, 0, 0, 0},
	{"csdb",			  0xd503229f, 0, 0, 0},
	{"esb",			   0xd503221f, 0, 0, 0},
	{"chkfeat x16",                   0xd503251f, 0, 0, 0},
	{"dsb sy",			0xd5033f9f, 0, 0, 0},
	{"dmb ish",		       0xd5033bbf, 0, 0, 0},
	{"sb",			    0xd50330ff, 0, 0, 0},
	{"clrex",			 0xd5033f5f, 0, 0, 0},
	{"tcommit",		       0xd503307f, 0, 0, 0},
	{"tcancel #0",                    0xd4600000, 0, 0, 0},
	{"ttest x0",		      0xd5233160, 0, 0, 0},
	{"msr daifset, #2",               0xd50342df, 0, 0, 0},
	{"mrs x0, midr_el1",              0xd5380000, 0, 0, 0},
	{"sys #0, c7, c5, #0",            0xd508751f, 0, 0, 0},
	{"adr x0, .",                     0x10000000, 0, 0, 0},
	{"ldr x0, [x1]",                  0xf9400020, 0, 0, 0},
	{"ldr w0, label (0x18)",          0x18000000, 0, 0, 0},
	{"str q20 (top 0x3c)",            0x3c800014, 0, 0, 0},
	{"and w0, w0, w0 lsl (top 0x0a)", 0x0a000000, 0, 0, 0},
	{"fmov v20 (top 0x1e)",           0x1e204014, 0, 0, 0},
	{"autiasppc -4",                  0xf380003f, 0, 0, 0},
	{"all ones",		      0xffffffff, 0, 0, 0},
 /* one bit beside a branch */
	{"ret with Rm = 1",               0xd65f0bc1, 0, 0, 0},
	{"br with op3",                   0xd61f0400, 0, 0, 0},
	{"br with op2",                   0xd61e0200, 0, 0, 0},
	{"eret x1",		       0xd69f0020, 0, 0, 0},
	{"eretaa with Rm = 0",            0xd69f0be0, 0, 0, 0},
	{"retaasppc with Rd = 30",        0x5500003e, 0, 0, 0},
	{"retaasppc with opc = 2",        0x5540003f, 0, 0, 0},
	{"cbb of 64 bits",                0xf4018040, 0, 0, 0},
	{"cb with bits 15:14 = 1",        0x74014040, 0, 0, 0},
	{"cb immediate with bit 14",      0x7500c040, 0, 0, 0},
	{"b.cond of top 0x56",            0x56000040, 0, 0, 0},
	{"wfet with CRm = 1",             0xd5031100, 0, 0, 0},
	{"wfit with op2 = 2",             0xd5031040, 0, 0, 0},
	{"isb with op2 = 7 is sb",        0xd5033fff, 0, 0, 0},
};

static bool is_as(const struct insn_case *c, const struct insn *i)
{
	return i->kind == c->kind && i->flags == c->flags && i->target == c->target &&
	       i->bytes == 4;
}

static void test_cases(void)
{
	for (size_t i = 0; i < sizeof(waypoints) / sizeof(waypoints[0]); i++) {
		struct insn got = a64_decode(waypoints[i].word, PC);

		CHECK(is_as(&waypoints[i], &got), "%08" PRIx32 " %s", waypoints[i].word,
		      waypoints[i].text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct insn got = a64_decode(others[i].word, PC);

		CHECK(is_as(&others[i], &got), "%08" PRIx32 " %s: no waypoint", others[i].word,
		      others[i].text);
	}
}

static void test_wrap(void)
{
	CHECK(a64_decode(0x17ffffff, 0).target == UINT64_MAX - 3, "b -4 at 0");
	CHECK(a64_decode(0x14000001, UINT64_MAX - 3).target == 0, "b +4 at the last word");
	CHECK(a64_decode(0x54000040, 0xffff800008000000).target == 0xffff800008000008,
	      "b.eq in a kernel");
}

/** CB<cc> and B.cond against a second way of taking the words apart. */
static void test_targets(void)
{
	bool ok = true;

	for (int32_t n = -256; n < 256; n++) {
		uint32_t imm9 = (uint32_t)n & 0x1ff, imm14 = (uint32_t)n & 0x3fff,
			 imm19 = (uint32_t)n & 0x7ffff, imm26 = (uint32_t)n & 0x3ffffff;
		uint64_t to = PC + (uint64_t)(int64_t)n * 4;

		ok = ok && a64_decode(0x74000000 | imm9 << 5, PC).target == to &&
		     a64_decode(0xf5e0801f | imm9 << 5, PC).target == to &&
		     a64_decode(0x36000000 | imm14 << 5, PC).target == to &&
		     a64_decode(0xb500001f | imm19 << 5, PC).target == to &&
		     a64_decode(0x94000000 | imm26, PC).target == to;
	}
	CHECK(ok, "each direct branch by -256 to 255 instructions");
}

static void put(uint8_t *to, uint32_t word)
{
	for (unsigned int i = 0; i < 4; i++)
		to[i] = (uint8_t)(word >> 8 * i);
}

static void test_find(void)
{
	static const uint32_t words[] = {
		0xd503201f, /* nop */
		0xd503205f, /* wfe */
		0xd4000001, /* svc */
		0x74000000, /* cbgt */
		0x14000000, /* b */
	};
	uint8_t code[20];

	for (unsigned int i = 0; i < 5; i++)
		put(code + 4 * i, words[i]);
	CHECK_EQ(a64_find_waypoint(code, 20, 1), 4, "WFE, where it is one");
	CHECK_EQ(a64_find_waypoint(code, 20, 0), 12, "else CBGT");
	CHECK_EQ(a64_find_waypoint(code + 8, 8, 1), 4, "from SVC to CBGT");
	CHECK_EQ(a64_find_waypoint(code, 12, 0), 12, "code without a waypoint ends at its end");
	CHECK_EQ(a64_find_waypoint(code, 15, 0), 12, "none, and part of one");
	CHECK_EQ(a64_find_waypoint(code, 3, 0), 0, "not one instruction");
	CHECK_EQ(a64_find_waypoint(code, 0, 0), 0, "no code has none");
}

/** The scan skips words without asking a64_decode(): none of these may be a waypoint. */
static void test_find_all(void)
{
	uint64_t z, state = 1;
	unsigned int nr_wrong = 0, nr = 0;

	for (uint32_t i = 0; i < 1 << 21; i++) {
		uint32_t word;
		uint8_t code[4];
		bool is_waypoint;

		z = splitmix64(&state);
		word = i << 21 | (uint32_t)(z >> 43);
		if (i & 0x800)
			word = (word & 0xffe00000) | 0x1f0000 | (uint32_t)(z >> 48 & 0xffff);
		put(code, word);
		is_waypoint = a64_decode(word, 0).kind != INSN_PLAIN;
		nr += is_waypoint ? 1 : 0;
		nr_wrong += is_waypoint != (a64_find_waypoint(code, 4, 1) == 0);
	}
	CHECK(!nr_wrong && nr > 100000, "2097152 words: found as decoded, %u waypoints", nr);
}

int main(void)
{
	test_cases();
	test_wrap();
	test_targets();
	test_find();
	test_find_all();
	return tap_done();
}
