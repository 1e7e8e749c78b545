/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_main.h"

#include <gelf.h>

enum {
	NEAR = 96,           /* bytes of entry code that are looked at */
	TO_CALL = 16,        /* from main's address in a register to the call: no more */
	MAX_RELAS = 1 << 20, /* of all sections */
};

/** What the file has at @p address, of code or anything; 0: nothing. */
static size_t bytes_at(const struct elf_file *f, uint64_t address, bool is_code,
		       const uint8_t **ret)
{
	for (size_t i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];
		uint64_t at = address - s->vaddr;

		if (!s->is_load || (is_code && !s->is_code) || address < s->vaddr ||
		    at >= s->file_bytes || !range_fits(s->offset, s->file_bytes, f->size))
			continue;
		*ret = f->data + s->offset + at;
		return s->file_bytes - at < NEAR ? (size_t)(s->file_bytes - at) : NEAR;
	}
	return 0;
}

static size_t code_at(const struct elf_file *f, uint64_t address, const uint8_t **ret)
{
	return bytes_at(f, address, true, ret);
}

/** What the dynamic linker writes to @p slot: the addend of a relative relocation. */
static bool relative_at(const struct elf_file *f, uint64_t slot, uint64_t *ret)
{
	const uint32_t relative = f->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	struct elf_section s;
	int left = MAX_RELAS;

	for (size_t i = 1; elf_file_section_at(f, i, &s); i++) {
		Elf_Data *data = s.h.sh_type == SHT_RELA ? elf_getdata(s.scn, NULL) : NULL;
		GElf_Rela r;

		for (int k = 0; data && left > 0 && gelf_getrela(data, k, &r); k++, left--) {
			if (r.r_offset != slot || GELF_R_TYPE(r.r_info) != relative)
				continue;
			*ret = (uint64_t)r.r_addend;
			return true;
		}
	}
	return false;
}

/** What @p slot holds when the program runs. Without a relocation, or with one of .relr.dyn, it is
 * in the file. */
static bool slot_at(const struct elf_file *f, uint64_t slot, uint64_t *ret)
{
	const uint8_t *p;

	if (relative_at(f, slot, ret))
		return true;
	if (bytes_at(f, slot, false, &p) < sizeof(*ret))
		return false;
	*ret = load_u64(p, false);
	return true;
}

/* --- x86-64 --- */

static uint64_t relative_to(uint64_t next, const uint8_t *p)
{
	return next + (uint64_t)(int64_t)(int32_t)load_u32(p, false);
}

/* A call, or the jump that a compiler makes of the last one of a function. */
static bool is_call(const uint8_t *p, size_t left)
{
	return (left >= 5 && (p[0] == 0xe8 || p[0] == 0xe9)) ||
	       (left >= 6 && p[0] == 0xff && (p[1] == 0x15 || p[1] == 0x25)) ||
	       (left >= 6 && p[0] == 0x67 && p[1] == 0xe8);
}

static bool is_before_call(const uint8_t *p, size_t left)
{
	for (size_t i = 0; i < left && i < TO_CALL; i++) {
		if (is_call(p + i, left - i))
			return true;
	}
	return false;
}

/* lea ADDRESS(%rip),%rdi; mov $ADDRESS,%rdi; mov SLOT(%rip),%rdi */
static bool first_argument(const struct elf_file *f, const uint8_t *p, uint64_t next, uint64_t *ret)
{
	uint64_t slot;

	if (p[0] != 0x48)
		return false;
	if (p[1] == 0x8d && p[2] == 0x3d) {
		*ret = relative_to(next, p + 3);
		return true;
	}
	if (p[1] == 0xc7 && p[2] == 0xc7) {
		*ret = load_u32(p + 3, false);
		return true;
	}
	slot = relative_to(next, p + 3);
	return p[1] == 0x8b && p[2] == 0x3d && slot_at(f, slot, ret);
}

static bool find_x86(const struct elf_file *f, uint64_t entry, bool may_call, uint64_t *ret)
{
	const uint8_t *p;
	size_t nr = code_at(f, entry, &p);

	for (size_t i = 0; i + 7 <= nr; i++) {
		if (first_argument(f, p + i, entry + i + 7, ret) &&
		    is_before_call(p + i + 7, nr - i - 7))
			return true;
	}
	/* musl's entry calls a function of C, which has it. */
	for (size_t i = 0; may_call && i + 5 <= nr; i++) {
		if (p[i] == 0xe8 && find_x86(f, relative_to(entry + i + 5, p + i + 1), false, ret))
			return true;
	}
	return false;
}

/* --- AArch64 --- */

static uint64_t page_of(uint32_t adrp, uint64_t pc)
{
	int64_t pages = (int64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));

	pages = (int64_t)((uint64_t)pages << 43) >> 43;
	return (pc & ~(uint64_t)0xfff) + (uint64_t)(pages * 4096);
}

static bool is_adrp_x0(uint32_t insn)
{
	return (insn & 0x9f00001f) == 0x90000000;
}

/* adrp x0, PAGE; add x0, x0, LOW; or ldr x0, [x0, LOW] of a slot */
static bool find_a64(const struct elf_file *f, uint64_t entry, uint64_t *ret)
{
	const uint8_t *p;
	size_t nr = code_at(f, entry, &p);

	for (size_t i = 0; i + 8 <= nr; i += 4) {
		uint32_t insn = load_u32(p + i, false), next = load_u32(p + i + 4, false);
		uint64_t page = page_of(insn, entry + i), low = next >> 10 & 0xfff;

		if (!is_adrp_x0(insn))
			continue;
		if ((next & 0xffc003ff) == 0x91000000) {
			*ret = page + low;
			return true;
		}
		if ((next & 0xffc003ff) == 0xf9400000)
			return slot_at(f, page + 8 * low, ret);
	}
	return false;
}

/** A branch that main is reached by. */
static uint64_t after_branch(const struct elf_file *f, uint64_t address)
{
	const uint8_t *p;
	size_t nr = code_at(f, address, &p);
	uint32_t insn = nr >= 4 ? load_u32(p, false) : 0, has_bti = insn == 0xd503245f;

	if (has_bti)
		insn = nr >= 8 ? load_u32(p + 4, false) : 0;
	if (insn >> 26 != 5)
		return address;
	return address + 4 * has_bti + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36);
}

bool elf_main_address(const struct elf_file *f, uint64_t *ret)
{
	const uint8_t *code;
	uint64_t found = 0;
	GElf_Ehdr h;
	bool ok = false;

	if (!f->is_64 || !gelf_getehdr(f->elf, &h) || !h.e_entry)
		return false;
	if (f->machine == EM_X86_64)
		ok = find_x86(f, h.e_entry, true, &found);
	else if (f->machine == EM_AARCH64 && find_a64(f, h.e_entry, &found))
		ok = (found = after_branch(f, found)) != 0;
	if (!ok || !code_at(f, found, &code))
		return false;
	*ret = found;
	return true;
}
