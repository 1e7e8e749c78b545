/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/unw_call_site.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "elf/sigreturn_code.h"
#include "unwind/unw_insn.h"
#include "unwind/unw_walk_impl.h"

struct site {
	enum unw_arch arch;
	bool is_x86_32;
	const uint8_t *at; /* code at the address */
	size_t before, after;
};

/* @return false: another machine. */
static bool machine_of(const uint8_t *file, size_t size, struct site *ret)
{
	bool is_big = size > EI_DATA && file[EI_DATA] == ELFDATA2MSB;
	size_t at = offsetof(Elf64_Ehdr, e_machine);

	if (size < sizeof(Elf32_Ehdr) || memcmp(file, ELFMAG, SELFMAG) != 0)
		return false;
	switch (is_big ? file[at] << 8 | file[at + 1] : file[at + 1] << 8 | file[at]) {
	case EM_386:
		ret->is_x86_32 = true;
		ret->arch = UNW_X86_64;
		return true;
	case EM_X86_64:
		ret->arch = UNW_X86_64;
		return true;
	case EM_AARCH64:
		ret->arch = UNW_AARCH64;
		return true;
	case EM_S390:
		ret->arch = UNW_S390X;
		return true;
	default:
		return false;
	}
}

/* mov $173, %eax; int $0x80, and the old form, after pop %eax. */
static bool is_sigreturn_x86_32(const struct site *s)
{
	static const uint8_t rt[] = {0xb8, 0xad, 0, 0, 0, 0xcd, 0x80};
	static const uint8_t old[] = {0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80};

	return (s->after >= sizeof(rt) && !memcmp(s->at, rt, sizeof(rt))) ||
	       (s->after >= sizeof(old) && !memcmp(s->at, old, sizeof(old)));
}

/* syscall, sysenter, int $0x80 */
static bool is_after_syscall_x86(const uint8_t *end)
{
	return (end[-2] == 0x0f && (end[-1] == 0x05 || end[-1] == 0x34)) ||
	       (end[-2] == 0xcd && end[-1] == 0x80);
}

static bool is_after_syscall(const struct site *s)
{
	switch (s->arch) {
	case UNW_X86_64:
		return is_after_syscall_x86(s->at);
	case UNW_AARCH64:
		return s->before >= 4 && (load_le32(s->at - 4) & 0xffe0001f) == A64_SVC;
	case UNW_S390X:
		return s->at[-2] == 0x0a;
	}
	return false;
}

enum unw_call_site unw_call_site_of(const uint8_t *file, size_t size, uint64_t rel)
{
	const struct unw_code code = {.code = file, .code_bytes = size};
	struct site s = {0};

	if (rel > size || !machine_of(file, size, &s))
		return UNW_SITE_UNKNOWN;
	s.at = file + rel;
	s.before = (size_t)rel;
	s.after = size - (size_t)rel;
	if (s.is_x86_32 ? is_sigreturn_x86_32(&s) : unw_code_is_sigreturn(s.arch, &code, rel))
		return UNW_SITE_SIGRETURN;
	if (s.before < 4)
		return UNW_SITE_UNKNOWN;
	if (!unw_code_is_no_call(s.arch, &code, rel))
		return UNW_SITE_AFTER_CALL;
	return is_after_syscall(&s) ? UNW_SITE_AFTER_SYSCALL : UNW_SITE_NO_CALL;
}
