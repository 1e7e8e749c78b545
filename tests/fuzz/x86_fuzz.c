/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "isa/x86/x86_branch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_right)
{
	if (!is_right)
		__builtin_trap();
}

/** An instruction is the same whatever follows it, and cut anywhere before its end it is cut. */
static void check_one(enum isa mode, const uint8_t *code, size_t bytes)
{
	struct insn i = {0}, again = {0};

	if (x86_decode(mode, code, bytes, 0, &i) != CLEW_OK)
		return;
	check(i.bytes >= 1 && i.bytes <= X86_MAX_BYTES && i.bytes <= bytes);
	check(x86_decode(mode, code, i.bytes, 0, &again) == CLEW_OK);
	check(again.bytes == i.bytes && again.kind == i.kind && again.flags == i.flags &&
	      again.detail == i.detail && again.target == i.target);
	for (size_t n = 0; n < i.bytes; n++)
		check(x86_decode(mode, code, n, 0, &again) == CLEW_TRUNCATED);
}

/** x86_find_branch() stops where steps of one do. */
static void check_find(enum isa mode, const uint8_t *code, size_t bytes)
{
	struct insn i, branch;
	uint32_t nr, steps = 0;
	size_t at = 0, found = x86_find_branch(mode, code, bytes, 0, &nr, &branch);

	while (x86_decode(mode, code + at, bytes - at, 0, &i) == CLEW_OK && i.kind == INSN_PLAIN) {
		at += i.bytes;
		steps++;
	}
	check(at == found && steps == nr);
	if (x86_decode(mode, code + at, bytes - at, at, &i) != CLEW_OK)
		i = (struct insn){0};
	check(branch.bytes == i.bytes && branch.kind == i.kind && branch.target == i.target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (enum isa mode = ISA_X86_64; mode <= ISA_X86_16; mode++) {
		for (size_t at = 0; at < size && at < 4096; at++)
			check_one(mode, data + at, size - at);
		check_find(mode, data, size);
	}
	return 0;
}
