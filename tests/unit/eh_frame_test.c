/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "make/cfi_build.h"
#include "unit/tap.h"
#include "unwind/eh_frame_hdr.h"

enum { TEXT = 0x10000, TEXT_BYTES = 0x1000, SECTION = 0x20000 };

struct made {
	struct cfi_build c;
	struct cfi_cie cie;
	const uint8_t *code; /* of the text; NULL: not at hand */
	struct unw_image image;
	struct unw_table t;
	void *block;
	struct eh_frame_counts counts;
};

static struct buf bytes(const char *hex)
{
	struct buf b = {0};
	unsigned int v;
	int n;

	for (; sscanf(hex, " %2x%n", &v, &n) == 1; hex += n)
		cfi_u8(&b, v);
	return b;
}

static struct cfi_cie cie_of(enum unw_arch arch)
{
	struct cfi_cie cie = {"zR", 1, false, EH_PE_PCREL | EH_PE_SDATA4, 0, 1, -8, 16, 0};

	if (arch == UNW_AARCH64)
		cie.code_align = 4, cie.ra_reg = 30;
	if (arch == UNW_S390X)
		cie.ra_reg = 14;
	return cie;
}

/** CFA = SP at the call, RA where the call left it. */
static const char *initial_of(enum unw_arch arch)
{
	return arch == UNW_X86_64  ? "0c 07 08 90 01"
	     : arch == UNW_AARCH64 ? "0c 1f 00"
				   : "0c 0f a0 01";
}

static enum clew_err compile(struct made *m, enum unw_arch arch)
{
	struct unw_list *l = unw_list_new();
	size_t size;
	enum clew_err err;

	cfi_image(&m->c, arch, TEXT, TEXT_BYTES, &m->image);
	m->image.segments[0].bytes = m->code;
	err = eh_frame_rows(&m->image, m->c.is_debug_frame, l, &m->counts);
	if (!err)
		err = unw_table_build(l, NULL, arch, &m->block, &size);
	if (!err)
		err = unw_table_of_block(&m->t, m->block, size);
	unw_list_free(l);
	return err;
}

static void add_function(struct made *m, uint64_t start, uint64_t size, const char *program)
{
	struct buf b = bytes(program);

	cfi_fde_add(&m->c, &m->cie, start, size, &b);
	buf_done(&b);
}

static void add_cie(struct made *m, const char *program)
{
	struct buf b = bytes(program);

	cfi_cie_add(&m->c, &m->cie, &b);
	buf_done(&b);
}

/** One function [TEXT + 0x100, + 0x40) with @p program. */
static void make(struct made *m, enum unw_arch arch, const char *program)
{
	*m = (struct made){.c = {.addr = SECTION}, .cie = cie_of(arch)};
	add_cie(m, initial_of(arch));
	add_function(m, TEXT + 0x100, 0x40, program);
	if (compile(m, arch))
		printf("# does not compile\n");
}

static void made_done(struct made *m)
{
	cfi_done(&m->c);
	mem_free(m->block);
}

/** A rule in a line: "r7+8 ra c-8 fp =". */
static const char *text_of(const struct unw_rule *r)
{
	static const char loc[] = "=cmr?";
	static char text[128];
	static const char *const none[] = {"gap", "expr", "reg", "op", "bad", "many", "handler"};
	int n = 0;

	if (r->cfa == UNW_CFA_NONE)
		return none[r->why];
	if (r->cfa == UNW_CFA_PLT)
		n = snprintf(text, sizeof(text), "plt%d", r->cfa_off);
	else if (r->cfa == UNW_CFA_INDEX)
		n = snprintf(text, sizeof(text), "*(r%u%+d+8*r%u)%+d", r->cfa_reg, r->cfa_off,
			     r->ra_reg, r->cfa_off2);
	else if (r->cfa == UNW_CFA_DEREF)
		n = snprintf(text, sizeof(text), "*(r%u%+d)%+d", r->cfa_reg, r->cfa_off,
			     r->cfa_off2);
	else
		n = snprintf(text, sizeof(text), "r%u%+d", r->cfa_reg, r->cfa_off);
	n += snprintf(text + n, sizeof(text) - (size_t)n, " %c", loc[r->ra]);
	if (r->ra == UNW_AT_REG || r->ra == UNW_IN_REG)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u", r->ra_reg);
	if (r->ra != UNW_SAME && r->ra != UNW_UNDEFINED)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%+d", r->ra_off);
	n += snprintf(text + n, sizeof(text) - (size_t)n, " %c", loc[r->fp]);
	if (r->fp == UNW_AT_REG || r->fp == UNW_IN_REG)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%u", r->fp_reg);
	if (r->fp != UNW_SAME && r->fp != UNW_UNDEFINED)
		n += snprintf(text + n, sizeof(text) - (size_t)n, "%+d", r->fp_off);
	if (r->cfa == UNW_CFA_REG && r->cfa_off2)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " b%+d", r->cfa_off2);
	snprintf(text + n, sizeof(text) - (size_t)n, "%s%s%s%s",
		 r->flags & UNW_RBX_LOST ? " b?" : "", r->flags & UNW_SIGNAL ? " signal" : "",
		 r->flags & UNW_RA_SIGNED ? " signed" : "", r->flags & UNW_KEY_B ? " B" : "");
	return text;
}

static const char *rule_at(const struct made *m, uint64_t vaddr)
{
	return m->t.head ? text_of(unw_table_find(&m->t, vaddr - TEXT)) : "no table";
}

/* A program, and the rule at the function's last byte. Text: CFA, RA, FP; "=" same, "c" at CFA,
 * "m" at register + offset, "r" in register, "?" undefined or lost; "b": rbx is saved, at the CFA.
 */
struct row {
	enum unw_arch arch;
	const char *what, *program, *want;
};

static const struct row rows[] = {
	{UNW_X86_64,  "no instructions: the CIE's state",              "",                                                "r7+8 c-8 ="       },
	{UNW_X86_64,  "push rbp; mov rsp, rbp",                        "41 0e 10 86 02 43 0d 06",                         "r6+16 c-8 c-16"   },
	{UNW_X86_64,  "restore",				       "41 86 02 41 c6",                                  "r7+8 c-8 ="       },
	{UNW_X86_64,  "restore_extended",                              "41 86 02 41 06 06",                               "r7+8 c-8 ="       },
	{UNW_X86_64,  "remember and restore bring the CFA back",       "0a 41 0c 06 10 86 02 41 0b",
	 "r7+8 c-8 ="															},
	{UNW_X86_64,  "one level each",                                "0a 0e 10 0a 0e 18 41 0b 41",                      "r7+16 c-8 ="      },
	{UNW_X86_64,  "restore without remember",                      "41 0b",                                           "bad"              },
	{UNW_X86_64,  "advance_loc1, 2, 4 and 8",
	 "02 01 0e 10 03 01 00 0e 18 04 01 00 00 00 0e 20 1d 01 00 00 00 00 00 00 00 0e 28",			      "r7+40 c-8 ="      },
	{UNW_X86_64,  "def_cfa_sf, def_cfa_offset_sf",                 "12 06 7e 13 7d",                                  "r6+24 c-8 ="      },
	{UNW_X86_64,  "offset_extended, offset_extended_sf",           "05 06 02 11 10 7f",                               "r7+8 c+8 c-16"    },
	{UNW_X86_64,  "GNU_negative_offset_extended",                  "2f 06 02",                                        "r7+8 c-8 c+16"    },
	{UNW_X86_64,  "GNU_args_size and nop change nothing",          "2e 10 00 00",                                     "r7+8 c-8 ="       },
	{UNW_X86_64,  "undefined RA: outermost",                       "07 10",                                           "r7+8 ? ="         },
	{UNW_X86_64,  "undefined FP",                                  "07 06",                                           "r7+8 c-8 ?"       },
	{UNW_X86_64,  "same_value",				    "86 02 08 06",                                     "r7+8 c-8 ="       },
	{UNW_X86_64,  "RA in a register",                              "09 10 02",                                        "r7+8 r2+0 ="      },
	{UNW_X86_64,  "FP in a register",                              "09 06 03",                                        "r7+8 c-8 r3+0"    },
	{UNW_X86_64,  "FP in itself",                                  "09 06 06",                                        "r7+8 c-8 ="       },
	{UNW_X86_64,  "RA same: the pc is no return address",          "08 10",                                           "reg"              },
	{UNW_X86_64,  "val_offset: a value beside the CFA's register", "14 06 02",                                        "r7+8 c-8 r7-8"    },
	{UNW_X86_64,  "val_offset_sf",                                 "15 06 7e",                                        "r7+8 c-8 r7+24"   },
	{UNW_X86_64,  "rules of other registers",                      "8d 04 05 23 07 09 0e 0c 10 0c 02 77 00 14 0d 01",
	 "r7+8 c-8 ="															},
	{UNW_X86_64,  "rbx saved",				     "83 02",					   "r7+8 c-8 = b-16"  },
	{UNW_X86_64,  "and restored",                                  "83 02 41 c3",                                     "r7+8 c-8 ="       },
	{UNW_X86_64,  "ld.so's binding",                               "41 0e 20 83 04 43 0d 03",                         "r3+32 c-8 = b-32" },
	{UNW_X86_64,  "rbx by the CFA's register",                     "0c 06 10 10 03 02 76 78",                         "r6+16 c-8 = b-24" },
	{UNW_X86_64,  "rbx by another register",                       "10 03 02 76 78",                                  "r7+8 c-8 = b?"    },
	{UNW_X86_64,  "rbx at the CFA itself",                         "83 00",                                           "r7+8 c-8 = b?"    },
	{UNW_X86_64,  "rbx undefined",                                 "07 03",                                           "r7+8 c-8 = b?"    },
	{UNW_X86_64,  "rbx in a register",                             "09 03 0c",                                        "r7+8 c-8 = b?"    },
	{UNW_X86_64,  "rbx saved, its place not described any more",   "83 02 0f 03 76 78 06",
	 "*(r6-8)+0 c-8 = b?"														},
	{UNW_AARCH64, "x3 is none of ours",                            "83 02",                                           "r31+0 = ="        },
	{UNW_X86_64,  "CFA register past ours",                        "0c 40 08",                                        "reg"              },
	{UNW_X86_64,  "CFA offset past 32 bits",                       "0c 07 80 80 80 80 10",                            "reg"              },
	{UNW_X86_64,  "DRAP: CFA *(rbp-8), FP *(rbp+0)",               "0f 03 76 78 06 10 06 02 76 00",
	 "*(r6-8)+0 c-8 m6+0"														},
	{UNW_X86_64,  "libcrypto: CFA *(rsp+16)+8",                    "0f 05 77 10 06 23 08",                            "*(r7+16)+8 c-8 =" },
	{UNW_X86_64,  "constants pushed and added, nops",              "0f 08 77 08 38 22 06 38 22 96 96",
	 "*(r7+16)+8 c-8 ="														  },
	{UNW_X86_64,  "sums and differences of constants",             "0f 07 77 08 38 22 06 38 22",
	 "*(r7+16)+8 c-8 ="														  },
	{UNW_X86_64,  "a constant is what is left on top",             "0f 0a 77 18 38 1c 06 0a 10 00 38 1c",
	 "expr"															      },
	{UNW_X86_64,  "minus, const2u",                                "0f 09 77 18 38 1c 06 0a 10 00 22",                "*(r7+16)+16 c-8 ="},
	{UNW_X86_64,  "constant + register",                           "0f 04 38 77 08 22",                               "r7+16 c-8 ="      },
	{UNW_X86_64,  "bregx, consts, deref_size 8",                   "0f 08 92 07 00 11 70 22 94 08",
	 "*(r7-16)+0 c-8 ="														  },
	{UNW_X86_64,  "deref_size 4",                                  "0f 04 77 00 94 04",                               "expr"             },
	{UNW_X86_64,  "two registers added",                           "0f 05 77 00 76 00 22",                            "expr"             },
	{UNW_X86_64,  "two loads",				     "0f 04 77 00 06 06",                               "expr"             },
	{UNW_X86_64,  "an empty stack",                                "0f 01 06",                                        "expr"             },
	{UNW_X86_64,  "no expression",                                 "0f 00",                                           "expr"             },
	{UNW_X86_64,  "array of r9 words: libcrypto",                  "0f 0a 77 08 79 00 38 1e 22 06 23 08",
	 "*(r7+8+8*r9)+8 c-8 ="													      },
	{UNW_X86_64,  "the same cut short",                            "0f 09 77 08 79 00 38 1e 22 06 23",                "expr"             },
	{UNW_X86_64,  "PLT of 11",				     "0f 0b 77 08 80 00 3f 1a 3b 2a 33 24 22",          "plt11 c-8 ="      },
	{UNW_X86_64,  "PLT of 9",				      "0f 0b 77 08 80 00 3f 1a 39 2a 33 24 22",          "plt9 c-8 ="       },
	{UNW_X86_64,  "nearly a PLT",                                  "0f 0b 77 08 80 00 3f 1a 3b 2a 34 24 22",          "expr"             },
	{UNW_X86_64,  "RA at a register",                              "10 10 03 77 a8 01",                               "r7+8 m7+168 ="    },
	{UNW_X86_64,  "expression on the CFA",                         "10 06 02 23 10",                                  "r7+8 c-8 c+16"    },
	{UNW_X86_64,  "FP expression of none of our forms is lost",    "10 06 03 76 00 06",
	 "r7+8 c-8 ?"															},
	{UNW_X86_64,  "RA expression of none of our forms",            "10 10 03 76 00 06",                               "expr"             },
	{UNW_X86_64,  "saved beside the CFA's own load",               "0f 03 76 78 06 10 06 05 76 78 06 38 1c",
	 "*(r6-8)+0 c-8 c-8"														 },
	{UNW_X86_64,  "val_expression",                                "16 06 02 77 20",                                  "r7+8 c-8 r7+32"   },
	{UNW_X86_64,  "val_expression that loads",                     "16 06 03 77 20 06",                               "r7+8 c-8 m7+32"   },
	{UNW_X86_64,  "val_expression of the CFA",                     "16 06 02 23 08",                                  "r7+8 c-8 r7+16"   },
	{UNW_X86_64,  "SP as the CFA, said twice",                     "14 07 00",                                        "r7+8 c-8 ="       },
	{UNW_X86_64,  "SP that is not the CFA",                        "14 07 01",                                        "reg"              },
	{UNW_X86_64,  "SP saved in memory",                            "05 07 01",                                        "reg"              },
	{UNW_X86_64,  "longjmp: SP in a register",                     "0c 05 00 09 07 08 09 10 02",                      "reg"              },
	{UNW_X86_64,  "SP where the CFA is loaded from",               "0f 04 77 a0 01 06 10 07 03 77 a0 01",
	 "*(r7+160)+0 c-8 ="														 },
	{UNW_X86_64,  "outermost: SP does not matter",                 "14 07 01 07 10",                                  "r7+8 ? ="         },
	{UNW_X86_64,  "unknown instruction",                           "41 0e 10 41 3f",                                  "op"               },
	{UNW_X86_64,  "SPARC's window_save elsewhere",                 "41 2d",                                           "op"               },
	{UNW_X86_64,  "cut off operand",                               "41 00 00 00 0c 07 80",                            "bad"              },
	{UNW_X86_64,  "cut off expression",                            "41 0f 20 77",                                     "bad"              },
	{UNW_X86_64,  "CFA offset of an expression",                   "0f 02 77 10 0e 08",                               "bad"              },
	{UNW_X86_64,  "advance beyond the end",                        "02 80 0e 40",                                     "r7+8 c-8 ="       },
	{UNW_X86_64,  "damage after the end",                          "02 80 ff ff ff",                                  "r7+8 c-8 ="       },
	{UNW_AARCH64, "stp x29, x30",                                  "41 0e 20 9d 04 9e 03",                            "r31+32 c-24 c-32" },
	{UNW_AARCH64, "leaf",					  "",						"r31+0 = ="        },
	{UNW_AARCH64, "x30 above the CFA: that is 16 higher",          "11 1e 7f",                                        "r31+16 c-8 ="     },
	{UNW_AARCH64, "and under a frame",                             "11 1e 7f 41 0e 20 9d 04",                         "r31+48 c-8 c-48"  },
	{UNW_AARCH64, "negate_ra_state",                               "41 2d",                                           "r31+0 = = signed" },
	{UNW_AARCH64, "twice",					 "41 2d 41 2d",                                     "r31+0 = ="        },
	{UNW_AARCH64, "with pc",				       "2c",					      "r31+0 = = signed" },
	{UNW_AARCH64, "remembered",				    "0a 2d 41 0b",                                     "r31+0 = ="        },
	{UNW_S390X,   "stmg r11, r15",                                 "46 8b 0a 8f 06 8e 07 44 0e c0 02",                "r15+320 c-56 c-80"},
	{UNW_S390X,   "r14 in a floating-point register",              "09 0e 10",                                        "r15+160 r16+0 ="  },
	{UNW_S390X,   "r15 by val_offset",                             "15 0f 14",                                        "r15+160 = ="      },
};

static void test_rows(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct made m;

		make(&m, rows[i].arch, rows[i].program);
		CHECK_STR(rule_at(&m, TEXT + 0x13f), rows[i].want, "%s", rows[i].what);
		made_done(&m);
	}
}

static void test_extent(void)
{
	struct made m;

	make(&m, UNW_X86_64, "44 0e 10 44 3f 44 0e 20");
	CHECK_STR(rule_at(&m, TEXT + 0xff), "gap", "before the function");
	CHECK_STR(rule_at(&m, TEXT + 0x100), "r7+8 c-8 =", "its first byte");
	CHECK_STR(rule_at(&m, TEXT + 0x103), "r7+8 c-8 =", "the last of the first row");
	CHECK_STR(rule_at(&m, TEXT + 0x104), "r7+16 c-8 =", "the second row");
	CHECK_STR(rule_at(&m, TEXT + 0x108), "op", "from the unknown instruction on");
	CHECK_STR(rule_at(&m, TEXT + 0x13f), "op", "to the end");
	CHECK_STR(rule_at(&m, TEXT + 0x140), "gap", "after it");
	CHECK(m.counts.nr_functions == 1 && m.counts.nr_rows == 3 &&
		      m.counts.nr_unrepresented[UNW_WHY_OPCODE] == 1,
	      "counted");
	made_done(&m);
}

static void test_set_loc(void)
{
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	m.cie.encoding = EH_PE_UDATA4;
	add_cie(&m, initial_of(UNW_X86_64));
	add_function(&m, TEXT + 0x100, 0x40, "01 20 01 01 00 0e 10");
	add_function(&m, TEXT + 0x200, 0x40, "44 01 00 02 01 00 0e 10");
	CHECK_EQ(compile(&m, UNW_X86_64), CLEW_OK, "set_loc compiles");
	CHECK_STR(rule_at(&m, TEXT + 0x11f), "r7+8 c-8 =", "before the set location");
	CHECK_STR(rule_at(&m, TEXT + 0x120), "r7+16 c-8 =", "from it on");
	CHECK_STR(rule_at(&m, TEXT + 0x204), "bad", "backwards is damage");
	made_done(&m);
}

static void test_cies(void)
{
	static const struct {
		const char *what, *letters, *want;
		uint8_t version;
	} cies[] = {
		{"no augmentation",          "",     "r7+8 c-8 =",        1},
		{"version 3",                "zR",   "r7+8 c-8 =",        3},
		{"version 4",                "zR",   "r7+8 c-8 =",        4},
		{"version 2 was never",      "zR",   "gap",               2},
		{"personality, LSDA",        "zPLR", "r7+8 c-8 =",        1},
		{"signal frame",             "zRS",  "r7+8 c-8 = signal", 1},
		{"B key, tagged stack",      "zRBG", "r7+8 c-8 =",        1},
		{"eh",		       "eh",   "r7+8 c-8 =",        1},
		{"unknown letter after z",   "zRX",  "r7+8 c-8 =",        1},
		{"unknown letter without z", "X",    "gap",               1},
	};

	for (size_t i = 0; i < sizeof(cies) / sizeof(*cies); i++) {
		struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

		m.cie.letters = cies[i].letters;
		m.cie.version = cies[i].version;
		m.cie.personality = EH_PE_INDIRECT | EH_PE_PCREL | EH_PE_SDATA4;
		add_cie(&m, initial_of(UNW_X86_64));
		add_function(&m, TEXT + 0x100, 0x40, "");
		m.cie = cie_of(UNW_X86_64);
		add_cie(&m, initial_of(UNW_X86_64));
		add_function(&m, TEXT + 0x200, 0x40, "");
		compile(&m, UNW_X86_64);
		CHECK_STR(rule_at(&m, TEXT + 0x100), cies[i].want, "%s", cies[i].what);
		CHECK_STR(rule_at(&m, TEXT + 0x200), "r7+8 c-8 =", "and the function after it");
		made_done(&m);
	}
}

static void test_encodings(void)
{
	static const uint8_t encodings[] = {
		EH_PE_PTR,
		EH_PE_ULEB128,
		EH_PE_UDATA4,
		EH_PE_UDATA8,
		EH_PE_SLEB128,
		EH_PE_SDATA4,
		EH_PE_SDATA8,
		EH_PE_PCREL | EH_PE_PTR,
		EH_PE_PCREL | EH_PE_SLEB128,
		EH_PE_PCREL | EH_PE_SDATA4,
		EH_PE_PCREL | EH_PE_SDATA8,
		EH_PE_PCREL | EH_PE_UDATA8,
		EH_PE_ALIGNED,
	};
	static const uint8_t refused[] = {EH_PE_OMIT,
					  EH_PE_INDIRECT | EH_PE_UDATA8,
					  EH_PE_TEXTREL | EH_PE_UDATA4,
					  EH_PE_FUNCREL,
					  0x05,
					  EH_PE_DATAREL | EH_PE_SDATA4};

	for (size_t i = 0; i < sizeof(encodings) * 4; i++) {
		struct made m = {
			.c = {.addr = SECTION, .is_swapped = i & 1},
                          .cie = cie_of(UNW_S390X)
                };

		m.cie.encoding = encodings[i / 4];
		m.cie.is_64 = i & 2;
		add_cie(&m, initial_of(UNW_S390X));
		cfi_terminator(&m.c);
		add_function(&m, TEXT + 0x100, 0x40, "");
		compile(&m, UNW_S390X);
		CHECK_STR(rule_at(&m, TEXT + 0x13f), "r15+160 = =",
			  "encoding %#x, %s byte order, %s lengths, a terminator in between",
			  encodings[i / 4], i & 1 ? "other" : "own", i & 2 ? "64-bit" : "32-bit");
		made_done(&m);
	}
	for (size_t i = 0; i < sizeof(refused); i++) {
		struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

		m.cie.encoding = refused[i];
		add_cie(&m, initial_of(UNW_X86_64));
		add_function(&m, TEXT + 0x100, 0x40, "");
		CHECK(compile(&m, UNW_X86_64) == CLEW_NOT_FOUND && m.counts.nr_bad == 1,
		      "encoding %#x is not followed", refused[i]);
		made_done(&m);
	}
	for (int i = 0; i < 4; i++) {
		struct made m = {
			.c = {.is_debug_frame = true, .is_swapped = i & 1},
			.cie = cie_of(UNW_X86_64)
                };

		m.cie.letters = "";
		m.cie.version = i & 2 ? 4 : 3;
		m.cie.is_64 = i & 2;
		add_cie(&m, initial_of(UNW_X86_64));
		add_function(&m, TEXT + 0x100, 0x40, "");
		compile(&m, UNW_X86_64);
		CHECK_STR(rule_at(&m, TEXT + 0x100),
			  "r7+8 c-8 =", ".debug_frame, %s byte order, %s lengths",
			  i & 1 ? "other" : "own", i & 2 ? "64-bit" : "32-bit");
		CHECK_EQ(m.t.head ? unw_table_find(&m.t, 0x100)->origin : 0, UNW_DEBUG_FRAME,
			 "and the rule says so");
		made_done(&m);
	}
}

static void test_dropped(void)
{
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	uint64_t nr_bad;

	add_cie(&m, initial_of(UNW_X86_64));
	add_function(&m, TEXT + 0x100, 0, "");
	add_function(&m, 0, 0x40, "");
	add_function(&m, TEXT - 0x40, 0x40, "");
	add_function(&m, TEXT + TEXT_BYTES, 0x40, "");
	add_function(&m, TEXT + TEXT_BYTES - 0x40, 0x40, "");
	CHECK_EQ(compile(&m, UNW_X86_64), CLEW_OK, "discarded functions");
	CHECK(m.counts.nr_dropped == 4 && m.counts.nr_functions == 1 && !m.counts.nr_bad,
	      "no bytes, at 0, before and after the code: dropped");
	mem_free(m.block);
	m.block = NULL;
	add_function(&m, TEXT + TEXT_BYTES - 0x40, 0x41, "");
	m.cie.offset = 3;
	add_function(&m, TEXT + 0x200, 0x40, "");
	cfi_fixed(&m.c.section, 0x100, 4, false);
	cfi_fixed(&m.c.section, 0, 2, false);
	m.counts = (struct eh_frame_counts){0};
	CHECK_EQ(compile(&m, UNW_X86_64), CLEW_OK, "damaged records");
	nr_bad = m.counts.nr_bad;
	CHECK_EQ(nr_bad, 3, "across the end, no such CIE, and longer than the section");
	made_done(&m);
}

static void test_cie_damage(void)
{
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	add_cie(&m, "0c 07 08 3f");
	add_function(&m, TEXT + 0x100, 0x40, "0c 07 08 90 01");
	compile(&m, UNW_X86_64);
	CHECK_STR(rule_at(&m, TEXT + 0x100), "op", "an unknown instruction in the CIE");
	made_done(&m);
	m = (struct made){.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	add_cie(&m, "");
	add_function(&m, TEXT + 0x100, 0x40, "");
	compile(&m, UNW_X86_64);
	CHECK_STR(rule_at(&m, TEXT + 0x100), "bad", "no CFA at all");
	made_done(&m);
}

static void test_depth(void)
{
	struct buf program = {0};
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	add_cie(&m, initial_of(UNW_X86_64));
	for (int i = 0; i < 32; i++)
		cfi_u8(&program, 0x0a);
	cfi_fde_add(&m.c, &m.cie, TEXT + 0x100, 0x40, &program);
	cfi_u8(&program, 0x0a);
	cfi_fde_add(&m.c, &m.cie, TEXT + 0x200, 0x40, &program);
	compile(&m, UNW_X86_64);
	CHECK_STR(rule_at(&m, TEXT + 0x100), "r7+8 c-8 =", "32 remembered states");
	CHECK_STR(rule_at(&m, TEXT + 0x200), "many", "one more is refused");
	buf_done(&program);
	made_done(&m);
}

/** A long expression that many rows share: minutes if it was run for each of them. */
static void test_long_expression(void)
{
	struct buf initial = bytes("0f"), expr = bytes("77 08"), program = {0};
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	buf_fill(&expr, (char)0x96, 8 << 20);
	cfi_block(&initial, &expr);
	cfi_u8(&initial, 0x90);
	cfi_u8(&initial, 1);
	cfi_cie_add(&m.c, &m.cie, &initial);
	for (int i = 0; i < TEXT_BYTES - 2; i++)
		buf_add(&program, i & 1 ? "\x41\x08\x06" : "\x41\x07\x06", 3);
	cfi_fde_add(&m.c, &m.cie, TEXT, TEXT_BYTES, &program);
	CHECK_EQ(compile(&m, UNW_X86_64), CLEW_OK, "8 MiB of nops in an expression, 4095 rows");
	CHECK_EQ(m.counts.nr_rows, TEXT_BYTES - 1, "each row is there");
	CHECK_STR(rule_at(&m, TEXT + 1), "r7+8 c-8 ?", "and has the expression's CFA");
	buf_done(&initial);
	buf_done(&expr);
	buf_done(&program);
	made_done(&m);
}

/** What glibc has at __restore_rt. */
static void test_sigreturn(void)
{
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	m.cie.letters = "zRS";
	add_cie(&m, "");
	add_function(&m, TEXT + 0x100, 0x40,
		     "0f 04 77 a0 01 06 10 06 03 77 f8 00 10 07 03 77 a0 01 10 10 03 77 a8 01");
	compile(&m, UNW_X86_64);
	CHECK_STR(rule_at(&m, TEXT + 0x100), "*(r7+160)+0 m7+168 m7+120 signal", "__restore_rt");
	made_done(&m);
}

/** Rows of a function at TEXT + 0x100 with the code @p code. */
static void compile_code(struct made *m, const uint8_t *code, const char *program)
{
	m->code = code;
	add_cie(m, initial_of(UNW_X86_64));
	add_function(m, TEXT + 0x100, 0x40, program);
	compile(m, UNW_X86_64);
}

/** libgcc's _Unwind_RaiseException: its last call puts the handler's registers in place. */
static void test_eh_return(void)
{
	static const char program[] =
		"41 0e 10 86 02 43 0d 06 41 80 03 81 04 6b 0c 02 08 42 0c 07 08";
	static uint8_t code[TEXT_BYTES];
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	struct made known = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	code[0x118] = 0xe8; /* a call into the code */
	code[0x120] = 0xe8;
	code[0x126] = 0xe8; /* to a function that only returns */
	code[0x127] = 0x100 - 0x2b;
	memset(code + 0x128, 0xff, 3);
	memcpy(code + 0x100, "\xf3\x0f\x1e\xfa\xc3", 5);
	code[0x12b] = 0xe8; /* the middle of something */
	memset(code + 0x12c, 0x7e, 4);
	compile_code(&m, code, program);
	CHECK_STR(rule_at(&m, TEXT + 0x11f), "r6+16 c-8 c-16",
		  "before the last call that does a thing");
	CHECK_STR(rule_at(&m, TEXT + 0x125), "handler", "after it there is none");
	CHECK_STR(rule_at(&m, TEXT + 0x12f), "handler", "to the handover");
	CHECK_STR(rule_at(&m, TEXT + 0x130), "r2+8 c-8 c-16 signal",
		  "which is as the source says, and leads to an exact address");
	CHECK_STR(rule_at(&m, TEXT + 0x132), "r7+8 c-8 c-16 signal", "and so is the rest");
	made_done(&m);

	memcpy(code + 0x108, "\x4c\x8d\xa5\xe0\xfd\xff\xff", 7); /* lea -0x220(%rbp), %r12 */
	memcpy(code + 0x11d, "\x4c\x89\xe7", 3);                 /* mov %r12, %rdi */
	compile_code(&known, code, program);
	CHECK_STR(rule_at(&known, TEXT + 0x11f), "r6+16 c-8 c-16", "before the call");
	CHECK_STR(rule_at(&known, TEXT + 0x120), "r6+16 m6-392 ? b?",
		  "where the return address is in libgcc's own notes, they say so");
	CHECK_STR(rule_at(&known, TEXT + 0x12a), "r6+16 m6-392 ? b?", "to the last call");
	CHECK_STR(rule_at(&known, TEXT + 0x12b), "handler", "after which frames are overwritten");
	CHECK_STR(rule_at(&known, TEXT + 0x130), "r2+8 c-8 c-16 signal", "the handover");
	made_done(&known);

	memcpy(code + 0x110, code + 0x108, 7); /* two places: unknown which */
	known = (struct made){.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	compile_code(&known, code, program);
	CHECK_STR(rule_at(&known, TEXT + 0x124), "r6+16 c-8 c-16", "two loads: not looked into");
	CHECK_STR(rule_at(&known, TEXT + 0x125), "handler", "and no rule after the call");
	made_done(&known);
}

/** More of them than any file has: looked into no more. */
static void test_many_eh_returns(void)
{
	enum { NR = EH_MAX_RETURNS + 10 };
	static uint8_t code[TEXT_BYTES];
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	struct buf program = bytes("41 0e 10 86 02 43 0d 06 41 80 03 81 04 48 0c 02 08");

	add_cie(&m, initial_of(UNW_X86_64));
	for (uint64_t i = 1; i < NR; i++) {
		code[i * 0x0e + 7] = 0xe8; /* to the function's own end */
		cfi_fde_add(&m.c, &m.cie, TEXT + i * 0x0e, 0x0e, &program);
	}
	compile_code(&m, code, "");
	CHECK_EQ(m.counts.nr_eh_returns, NR - 1, "functions that enter a handler");
	CHECK_EQ(m.counts.nr_unrepresented[UNW_WHY_EH_RETURN], EH_MAX_RETURNS, "looked into");
	CHECK_STR(rule_at(&m, TEXT + EH_MAX_RETURNS * 0x0e + 0x0c), "handler", "the last of them");
	CHECK_STR(rule_at(&m, TEXT + (NR - 1) * 0x0e + 0x0c), "r6+16 c-8 c-16",
		  "the others are as the source says");
	buf_done(&program);
	made_done(&m);
}

/** GCC's rule of a function that realigned its stack stays "FP is where FP points" after the pop.
 */
static void test_popped_fp(void)
{
	static uint8_t code[TEXT_BYTES];
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};
	struct made other = {.c = {.addr = SECTION}, .cie = cie_of(UNW_X86_64)};

	/* pop %rbp; lea -8(%r10), %rsp; ret: as GCC 12 writes it */
	memcpy(code + 0x110, "\x5d\x49\x8d\x62\xf8\xc3", 6);
	compile_code(&m, code, "10 06 02 76 00 50 0c 0a 00 45 0c 07 08 41 0e 10");
	CHECK_STR(rule_at(&m, TEXT + 0x10f), "r7+8 c-8 m6+0", "in the function");
	CHECK_STR(rule_at(&m, TEXT + 0x110), "r10+0 c-8 m6+0", "at the pop");
	CHECK_STR(rule_at(&m, TEXT + 0x111), "r10+0 c-8 =", "after it");
	CHECK_STR(rule_at(&m, TEXT + 0x115), "r7+8 c-8 =", "at the return");
	CHECK_STR(rule_at(&m, TEXT + 0x116), "r7+16 c-8 m6+0", "code after the return");
	made_done(&m);
	code[0x111] = 0x90;
	compile_code(&other, code, "10 06 02 76 00 50 0c 0a 00 45 0c 07 08 41 0e 10");
	CHECK_STR(rule_at(&other, TEXT + 0x111), "r10+0 c-8 m6+0",
		  "other code: as the source says");
	made_done(&other);
}

static void test_key_b(void)
{
	struct made m = {.c = {.addr = SECTION}, .cie = cie_of(UNW_AARCH64)};

	m.cie.letters = "zRB";
	add_cie(&m, initial_of(UNW_AARCH64));
	add_function(&m, TEXT + 0x100, 0x40, "41 2d");
	compile(&m, UNW_AARCH64);
	CHECK_STR(rule_at(&m, TEXT + 0x100), "r31+0 = =", "not signed yet");
	CHECK_STR(rule_at(&m, TEXT + 0x104), "r31+0 = = signed B", "signed with key B");
	made_done(&m);
}

static void test_oom(void)
{
	struct made m;
	enum clew_err err = CLEW_OK;
	bool has_failed = true;
	uint64_t n;

	make(&m, UNW_X86_64, "41 0e 10 86 02 43 0d 06");
	for (n = 0; has_failed && n < 100; n++) {
		struct unw_list *l = unw_list_new();
		void *block = NULL;
		size_t size;

		mem_fail_after(n);
		err = eh_frame_rows(&m.image, false, l, NULL);
		if (!err)
			err = unw_table_build(l, NULL, UNW_X86_64, &block, &size);
		has_failed = mem_has_failed();
		mem_fail_after(UINT64_MAX);
		mem_free(block);
		unw_list_free(l);
		if (has_failed != (err == CLEW_NO_MEMORY))
			break;
	}
	CHECK(!has_failed && !err, "every allocation failed once: said so (%u)", (unsigned int)n);
	made_done(&m);
}

int main(void)
{
	test_rows();
	test_extent();
	test_set_loc();
	test_cies();
	test_encodings();
	test_dropped();
	test_cie_damage();
	test_depth();
	test_long_expression();
	test_sigreturn();
	test_eh_return();
	test_many_eh_returns();
	test_popped_fp();
	test_key_b();
	test_oom();
	return tap_done();
}
