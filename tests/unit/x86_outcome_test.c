/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_outcome.h"

#include "tap.h"

enum { C = 1, P = 4, Z = 0x40, S = 0x80, O = 0x800 };

static bool parse(enum isa mode, const char *code, size_t n, struct x86_outcome *ret)
{
	return x86_outcome_of(mode, (const uint8_t *)code, n, 0x1000, ret);
}

/* Every condition, against its definition in the manual, for every state of the flags. */
static void conditions(void)
{
	unsigned int wrong = 0;

	for (unsigned int f = 0; f < 32; f++) {
		bool c = f & 1, p = f & 2, z = f & 4, s = f & 8, o = f & 16;
		const bool want[16] = {o, !o, c, !c, z,      !z,     c || z,      !c && !z,
				       s, !s, p, !p, s != o, s == o, z || s != o, !z && s == o};
		const uint64_t gpr[16] = {0};
		const struct x86_state state = {.gpr = gpr,
						.flags = (c ? C : 0u) | (p ? P : 0u) |
							 (z ? Z : 0u) | (s ? S : 0u) |
							 (o ? O : 0u)};

		for (unsigned int i = 0; i < 16; i++) {
			const char near[] = {0x0f, (char)(0x80 + i), 0, 0, 0, 0};
			const char rel8[] = {(char)(0x70 + i), 0};
			struct x86_outcome a, b;

			wrong += !parse(ISA_X86_64, near, 6, &a) ||
				 !parse(ISA_X86_64, rel8, 2, &b) ||
				 x86_is_taken(&a, &state) != want[i] ||
				 x86_is_taken(&b, &state) != want[i];
		}
	}
	CHECK(!wrong, "16 conditions, 32 states of the flags");
}

static void counters(void)
{
	static const struct {
		const char *code;
		size_t bytes;
		uint64_t cx, flags;
		bool is_taken;
	} rows[] = {
		{"\xe3\x00",     2, 0,                  0, true },
		{"\xe3\x00",     2, 1,                  0, false},
		{"\xe3\x00",     2, 0x100000000,        0, false},
		{"\x67\xe3\x00", 3, 0x100000000,        0, true },
		{"\xe2\x00",     2, 1,                  0, false},
		{"\xe2\x00",     2, 0,                  0, true },
		{"\xe2\x00",     2, 2,                  Z, true },
		{"\x67\xe2\x00", 3, 0xffffffff00000001, 0, false},
		{"\xe1\x00",     2, 2,                  Z, true },
		{"\xe1\x00",     2, 2,                  0, false},
		{"\xe0\x00",     2, 2,                  0, true },
		{"\xe0\x00",     2, 2,                  Z, false},
		{"\xe0\x00",     2, 1,                  0, false},
	};
	unsigned int wrong = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const uint64_t gpr[16] = {0, rows[i].cx};
		const struct x86_state s = {.gpr = gpr, .flags = rows[i].flags};
		struct x86_outcome o;

		wrong += !parse(ISA_X86_64, rows[i].code, rows[i].bytes, &o) ||
			 x86_is_taken(&o, &s) != rows[i].is_taken;
	}
	CHECK(!wrong, "LOOP and its kin, JCXZ");
}

static void places(void)
{
	static const struct {
		const char *code;
		size_t bytes;
		enum isa mode;
		enum x86_way way;
		uint64_t place;
	} rows[] = {
		{"\xff\xd0",                     2, ISA_X86_64, X86_WAY_REG,    0x100  },
		{"\x41\xff\xe7",                 3, ISA_X86_64, X86_WAY_REG,    0xf00  },
		{"\x3e\xff\xe2",                 3, ISA_X86_64, X86_WAY_REG,    0x300  },
		{"\xff\x25\x10\x00\x00\x00",     6, ISA_X86_64, X86_WAY_MEMORY, 0x1016 },
		{"\xff\x25\x10\x00\x00\x00",     6, ISA_X86_32, X86_WAY_MEMORY, 0x10   },
		{"\xff\x14\xc5\x20\x00\x00\x00", 7, ISA_X86_64, X86_WAY_MEMORY, 0x820  },
		{"\xff\x64\x24\xf8",             4, ISA_X86_64, X86_WAY_MEMORY, 0x4f8  },
		{"\x41\xff\x54\xcd\x08",         5, ISA_X86_64, X86_WAY_MEMORY, 0x1008 },
		{"\x64\xff\x10",                 3, ISA_X86_64, X86_WAY_MEMORY, 0x70100},
		{"\x65\xff\x20",                 3, ISA_X86_64, X86_WAY_MEMORY, 0x80100},
		{"\xc3",			 1, ISA_X86_64, X86_WAY_RETURN, 0x500  },
		{"\xc2\x08\x00",                 3, ISA_X86_64, X86_WAY_RETURN, 0x500  },
		{"\xf3\xc3",                     2, ISA_X86_64, X86_WAY_RETURN, 0x500  },
	};
	uint64_t gpr[16];
	const struct x86_state s = {.gpr = gpr, .fs_base = 0x70000, .gs_base = 0x80000};
	unsigned int wrong = 0;

	for (unsigned int i = 0; i < 16; i++)
		gpr[i] = 0x100 * (i + 1);
	gpr[15] = 0xf00;
	gpr[13] = 0;
	gpr[1] = 0x200;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct x86_outcome o;
		bool is_right = parse(rows[i].mode, rows[i].code, rows[i].bytes, &o) &&
				o.way == rows[i].way && x86_outcome_place(&o, &s) == rows[i].place;

		if (!is_right)
			printf("# row %zu\n", i);
		wrong += !is_right;
	}
	CHECK(!wrong, "registers, memory, the stack");
}

static void others(void)
{
	struct x86_outcome o;

	CHECK(!parse(ISA_X86_64, "\x66\xc3", 2, &o), "a return of 16 bits is unknown");
	CHECK(!parse(ISA_X86_64, "\xd5\x00\xff\xd0", 4, &o), "REX2 is unknown");
	CHECK(!parse(ISA_X86_64, "\xff", 1, &o) && !parse(ISA_X86_64, "\xff\x25\x10", 3, &o) &&
		      !parse(ISA_X86_64, "\xff\x14", 2, &o) && !parse(ISA_X86_64, "\x41", 1, &o),
	      "what is cut is unknown");
}

int main(void)
{
	conditions();
	counters();
	places();
	others();
	return tap_done();
}
