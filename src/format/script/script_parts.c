/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/script/script_parts.h"

#include <string.h>

enum script_arch script_arch_of(const char *name)
{
#if defined(__x86_64__)
	enum script_arch host = SCRIPT_ARCH_X86;
#elif defined(__aarch64__)
	enum script_arch host = SCRIPT_ARCH_ARM64;
#else
	enum script_arch host = SCRIPT_ARCH_OTHER;
#endif

	if (!name)
		return host;
	if (!strcmp(name, "x86_64") || (name[0] == 'i' && !strcmp(name + 2, "86")))
		return SCRIPT_ARCH_X86;
	return !strcmp(name, "aarch64") || !strcmp(name, "arm64") ? SCRIPT_ARCH_ARM64
								  : SCRIPT_ARCH_OTHER;
}

/* Spec: Linux 7.3 arch/x86/include/uapi/asm/perf_regs.h. Each XMM register takes two bits. */
static const char
	*const x86_regs[64] =
		{
			"AX",    "BX",    "CX",    "DX",          "SI",    "DI",    "BP",
			"SP",    "IP",    "FLAGS", "CS",          "SS",    "DS",    "ES",
			"FS",    "GS",    "R8",    "R9",          "R10",   "R11",   "R12",
			"R13",   "R14",   "R15",   [32] = "XMM0", "XMM0",  "XMM1",  "XMM1",
			"XMM2",  "XMM2",  "XMM3",  "XMM3",        "XMM4",  "XMM4",  "XMM5",
			"XMM5",  "XMM6",  "XMM6",  "XMM7",        "XMM7",  "XMM8",  "XMM8",
			"XMM9",  "XMM9",  "XMM10", "XMM10",       "XMM11", "XMM11", "XMM12",
			"XMM12", "XMM13", "XMM13", "XMM14",       "XMM14", "XMM15", "XMM15",
};

/* Spec: Linux 7.3 arch/arm64/include/uapi/asm/perf_regs.h. */
static const char *const arm64_regs[64] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",        "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",       "x22", "x23",
	"x24", "x25", "x26", "x27", "x28", "x29", "lr",  "sp",  "pc",  [46] = "vg",
};

const char *script_reg_name(enum script_arch arch, unsigned int bit)
{
	if (arch == SCRIPT_ARCH_X86)
		return x86_regs[bit & 63];
	return arch == SCRIPT_ARCH_ARM64 ? arm64_regs[bit & 63] : NULL;
}

void script_add_regs(struct buf *b, enum script_arch arch, uint64_t abi, uint64_t mask,
		     const struct perf_words *words)
{
	uint32_t at = 0;

	if (!words->nr)
		return;
	buf_str(b, " ABI:");
	buf_dec(b, abi, 0, ' ');
	buf_char(b, ' ');
	for (unsigned int bit = 0; bit < 64 && at < words->nr; bit++) {
		const char *name = script_reg_name(arch, bit);

		if (!(mask >> bit & 1))
			continue;
		buf_field(b, name ? name : "unknown", 5);
		buf_str(b, ":0x");
		buf_hex(b, perf_words_get(words, at++), 0, ' ');
		buf_char(b, ' ');
	}
}

/* Spec: Linux 7.3 uapi/linux/perf_event.h, PERF_BR_. The last type says: see new_type. */
static const char *branch_type(uint64_t flags)
{
	static const char *const types[16] = {
		"",       "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",   "SYSCALL",
		"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX", "",
	};
	static const char *const new_types[16] = {
		"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3",
		"ARCH_4",     "ARCH_5",     "(null)",     "(null)", "(null)", "(null)",
		"(null)",     "(null)",     "(null)",     "(null)",
	};
	unsigned int type = (unsigned int)(flags >> 20 & 15);

	return type == 15 ? new_types[flags >> 26 & 15] : types[type];
}

void script_add_branch_flags(struct buf *b, const struct perf_branch *br)
{
	uint64_t f = br->flags;

	buf_char(b, f & PERF_BRANCH_PREDICTED ? 'P' : f & PERF_BRANCH_MISPRED ? 'M' : '-');
	buf_str(b, f & PERF_BRANCH_NOT_TAKEN ? "N" : "");
	buf_char(b, '/');
	buf_char(b, f & PERF_BRANCH_IN_TX ? 'X' : '-');
	buf_char(b, '/');
	buf_char(b, f & PERF_BRANCH_ABORT ? 'A' : '-');
	buf_char(b, '/');
	buf_dec(b, perf_branch_cycles(f), 0, ' ');
	buf_char(b, '/');
	buf_str(b, branch_type(f));
}

void script_add_page_size(struct buf *b, uint64_t bytes)
{
	static const char units[] = "BKMGTPE";
	unsigned int unit = 0;

	if (!bytes) {
		buf_str(b, "N/A");
		return;
	}
	for (; bytes >= 1024 && !(bytes & 1023) && unit < sizeof(units) - 2; unit++)
		bytes >>= 10;
	buf_dec(b, bytes, 0, ' ');
	buf_char(b, units[unit]);
}

enum { MISC_WIDTH = 6 };

void script_add_misc(struct buf *b, uint32_t type, uint16_t misc)
{
	static const char modes[8] = " KUHGg";
	unsigned int mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	size_t from = b->nr;

	if (mode && mode < 6)
		buf_char(b, modes[mode]);
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		buf_str(b, misc & PERF_RECORD_MISC_MMAP_DATA ? "M" : "");
		break;
	case PERF_RECORD_COMM:
		buf_str(b, misc & PERF_RECORD_MISC_COMM_EXEC ? "E" : "");
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		buf_str(b, misc & PERF_RECORD_MISC_SWITCH_OUT ? "S" : "");
		buf_str(b, misc & PERF_RECORD_MISC_SWITCH_OUT &&
					   misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT
				   ? "p"
				   : "");
		break;
	default:
		break;
	}
	while (b->nr - from < MISC_WIDTH)
		buf_char(b, ' ');
}

static void add_output_line(struct buf *b, const uint8_t *p, size_t nr)
{
	for (size_t i = 0; i < 8; i++) {
		if (i < nr) {
			buf_char(b, ' ');
			buf_hex(b, p[i], 2, '0');
		} else {
			buf_str(b, "   ");
		}
	}
	buf_str(b, "  ");
	for (size_t i = 0; i < nr; i++)
		buf_char(b, p[i] >= 0x20 && p[i] < 0x7f ? (char)p[i] : '.');
}

void script_add_bpf_output(struct buf *b, struct bytes raw)
{
	size_t nr = bytes_left(&raw);

	for (size_t at = 0; at < nr; at += 8) {
		buf_str(b, at ? "                 " : " ");
		buf_str(b, "BPF output:");
		buf_char(b, ' ');
		buf_hex(b, at, 4, '0');
		buf_char(b, ':');
		add_output_line(b, raw.pos + at, nr - at < 8 ? nr - at : 8);
		buf_char(b, '\n');
	}
}
