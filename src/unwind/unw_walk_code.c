/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/bytes.h"
#include "elf/sigreturn_code.h"
#include "unwind/unw_insn.h"
#include "unwind/unw_walk_impl.h"

/* Up to @p size bytes of code at @p rel; NULL: not at hand. */
static const uint8_t *code_at(const struct unw_code *c, uint64_t rel, size_t size)
{
	uint64_t off;

	if (!c || !c->code || rel < c->code_start)
		return NULL;
	off = rel - c->code_start;
	return off <= c->code_bytes && size <= c->code_bytes - off ? c->code + off : NULL;
}

/* Instructions are little endian whatever the data is. */
static bool word_at(const struct unw_code *c, uint64_t rel, uint32_t *ret)
{
	const uint8_t *p = code_at(c, rel, 4);

	if (!p)
		return false;
	*ret = load_le32(p);
	return true;
}

static bool is_svc(const struct unw_code *c, uint64_t rel, uint8_t number)
{
	const uint8_t *p = code_at(c, rel, 2);

	return p && p[0] == 0x0a && p[1] == number;
}

enum { S390X_SIGRETURN = 119, S390X_RT_SIGRETURN = 173 };

bool unw_code_is_old_sigreturn(const struct unw_code *code, uint64_t rel)
{
	return is_svc(code, rel, S390X_SIGRETURN);
}

/* The trampoline's bytes, if it starts at @p rel; 0: it does not. */
static size_t sigreturn_bytes_x86_64(const struct unw_code *c, uint64_t rel)
{
	enum { SHORT = 7, LONG = 9 };
	const uint8_t *p = code_at(c, rel, LONG);
	size_t nr = LONG;

	if (!p)
		p = code_at(c, rel, nr = SHORT);
	return p ? x86_sigreturn_bytes(p, nr) : 0;
}

static bool is_after_sigreturn_x86_64(const struct unw_code *c, uint64_t rel)
{
	const uint8_t *p = code_at(c, rel - 2, 2);

	return p && p[0] == 0x0f && p[1] == 0x05 &&
	       (sigreturn_bytes_x86_64(c, rel - 9) == 9 || sigreturn_bytes_x86_64(c, rel - 7) == 7);
}

static bool is_in_sigreturn_x86_64(const struct unw_code *c, uint64_t rel)
{
	return sigreturn_bytes_x86_64(c, rel - 7) == 9 || sigreturn_bytes_x86_64(c, rel - 5) == 7;
}

/* mov x8, #139; svc #0 */
static bool is_sigreturn_aarch64(const struct unw_code *c, uint64_t rel)
{
	uint32_t mov, svc;

	return word_at(c, rel, &mov) && word_at(c, rel + 4, &svc) && mov == A64_MOV_SIGRETURN &&
	       svc == A64_SVC;
}

bool unw_code_is_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel)
{
	switch (arch) {
	case UNW_X86_64:
		return sigreturn_bytes_x86_64(code, rel);
	case UNW_AARCH64:
		return is_sigreturn_aarch64(code, rel);
	case UNW_S390X:
		return is_svc(code, rel, S390X_RT_SIGRETURN) || is_svc(code, rel, S390X_SIGRETURN);
	}
	return false;
}

bool unw_code_is_after_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel)
{
	return arch == UNW_X86_64 && is_after_sigreturn_x86_64(code, rel);
}

bool unw_code_is_in_sigreturn(enum unw_arch arch, const struct unw_code *code, uint64_t rel)
{
	switch (arch) {
	case UNW_X86_64:
		return is_in_sigreturn_x86_64(code, rel);
	case UNW_AARCH64:
		return is_sigreturn_aarch64(code, rel - 4) || is_sigreturn_aarch64(code, rel - 8);
	case UNW_S390X:
		return false; /* one instruction; too short to distinguish from data after it */
	}
	return false;
}

/* call rel32; call *reg and *memory in all addressing forms: the shorter hide in the longer, so
 * each length is tried. */
static bool is_call_x86_64(const uint8_t *end, size_t nr)
{
	if (nr >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t len = 2; len <= 7 && len <= nr; len++) {
		const uint8_t *p = end - len;
		uint8_t mod = p[1] >> 6, rm = p[1] & 7;
		size_t size = 2;

		if (p[0] != 0xff || (p[1] >> 3 & 7) != 2)
			continue;
		if (mod == 3) {
			if (len == size)
				return true;
			continue;
		}
		if (rm == 4) {
			if (len < 3)
				continue;
			size++;
			if (mod == 0 && (p[2] & 7) == 5)
				size += 4;
		} else if (mod == 0 && rm == 5) {
			size += 4;
		}
		size += mod == 1 ? 1 : mod == 2 ? 4 : 0;
		if (len == size)
			return true;
	}
	return false;
}

/* BRASL, BRAS, BASR; also BAL-like old forms are not written by compilers. */
static bool is_call_s390x(const struct unw_code *c, uint64_t rel)
{
	const uint8_t *p = code_at(c, rel - 6, 6);

	if (p && p[0] == 0xc0 && (p[1] & 0x0f) == 5)
		return true;
	p = code_at(c, rel - 4, 4);
	if (p && p[0] == 0xa7 && (p[1] & 0x0f) == 5)
		return true;
	p = code_at(c, rel - 2, 2);
	return p && p[0] == 0x0d;
}

bool unw_code_is_no_call(enum unw_arch arch, const struct unw_code *code, uint64_t rel)
{
	const uint8_t *p;
	uint32_t insn;

	switch (arch) {
	case UNW_X86_64:
		for (size_t nr = 7; nr >= 2; nr--) {
			p = code_at(code, rel - nr, nr);
			if (p)
				return !is_call_x86_64(p + nr, nr);
		}
		return false;
	case UNW_AARCH64:
		return word_at(code, rel - 4, &insn) && !a64_is_call(insn);
	case UNW_S390X:
		return code_at(code, rel - 2, 2) && !is_call_s390x(code, rel);
	}
	return false;
}

bool unw_code_call_target(enum unw_arch arch, const struct unw_code *code, uint64_t rel,
			  int64_t *ret)
{
	const uint8_t *p;
	uint32_t insn;

	if (arch == UNW_S390X || !word_at(code, rel - 4, &insn))
		return false;
	if (arch == UNW_X86_64) {
		p = code_at(code, rel - 5, 1);
		*ret = (int32_t)insn;
		return p && *p == 0xe8;
	}
	if (!a64_is_bl(insn))
		return false;
	*ret = a64_bl_off(insn) - 4;
	return true;
}

bool unw_code_keeps_link(const struct unw_code *code, uint64_t start, uint64_t rel)
{
	enum { MAX_INSNS = 1024 };
	uint32_t insn;

	if ((rel | start) & 3 || rel < start || rel - start > 4 * MAX_INSNS)
		return false;
	for (uint64_t at = start; at < rel; at += 4) {
		if (!word_at(code, at, &insn) || a64_ends_link(insn))
			return false;
	}
	return true;
}

/* As many of @p most bytes as are at hand. */
static const uint8_t *bytes_at(const struct unw_code *c, uint64_t rel, size_t most, size_t *ret_nr)
{
	const uint8_t *p = code_at(c, rel, 1);
	size_t left = p ? c->code_bytes - (size_t)(rel - c->code_start) : 0;

	*ret_nr = left < most ? left : most;
	return p;
}

static enum unw_code_place place_x86_64(const struct unw_code *c, uint64_t rel, uint32_t *ret)
{
	size_t nr, before, at;
	const uint8_t *p = bytes_at(c, rel, 16, &nr), *prev = bytes_at(c, rel - 1, 16, &before);

	if (!p)
		return UNW_CODE_BODY;
	if (*p == 0xc3 || (nr > 1 && *p == 0xf3 && p[1] == 0xc3))
		return UNW_CODE_RETURN;
	if (prev && x86_is_push_mov(prev, before)) {
		*ret = 16;
		return UNW_CODE_PUSHED;
	}
	at = x86_is_endbr(p, nr) ? X86_ENDBR_BYTES : 0;
	if (x86_is_push_mov(p + at, nr - at))
		return UNW_CODE_ENTRY;
	return at < nr && p[at] == 0x55 ? UNW_CODE_MAYBE : UNW_CODE_BODY;
}

static enum unw_code_place place_aarch64(const struct unw_code *c, uint64_t rel, uint32_t *ret)
{
	uint32_t insn, before;

	if (!word_at(c, rel, &insn))
		return UNW_CODE_BODY;
	if (a64_is_ret(insn))
		return UNW_CODE_RETURN;
	if (a64_is_landing(insn) || a64_is_push_fp_lr(insn))
		return UNW_CODE_ENTRY;
	if (a64_is_set_fp(insn) && !a64_imm12(insn) && word_at(c, rel - 4, &before) &&
	    a64_is_push_fp_lr(before)) {
		*ret = (uint32_t)-a64_pair_off(before);
		return UNW_CODE_PUSHED;
	}
	return UNW_CODE_BODY;
}

enum unw_code_place unw_code_place(enum unw_arch arch, const struct unw_code *code, uint64_t rel,
				   uint32_t *ret_frame_bytes)
{
	switch (arch) {
	case UNW_X86_64:
		return place_x86_64(code, rel, ret_frame_bytes);
	case UNW_AARCH64:
		return place_aarch64(code, rel, ret_frame_bytes);
	case UNW_S390X:
		break;
	}
	return UNW_CODE_BODY;
}

/* lea disp8(%r10), %rsp or another of r8 to r15: the end of a function that realigned its stack */
static bool is_lea_to_rsp(const struct unw_code *c, uint64_t rel)
{
	const uint8_t *p = code_at(c, rel, 4);

	return p && p[0] == 0x49 && p[1] == 0x8d && (p[2] & 0xf8) == 0x60 && p[2] != 0x64;
}

enum { MAX_POPS = 8 };

bool unw_code_is_return(const struct unw_code *code, uint64_t rel)
{
	for (int i = 0; i < MAX_POPS; i++) {
		const uint8_t *p = code_at(code, rel, 2);

		if (!p)
			return false;
		if (*p == 0xc3 || *p == 0xc2 || (*p == 0xf3 && p[1] == 0xc3))
			return true;
		if (*p == 0x5d) /* pop %rbp: still to come */
			return false;
		if (is_lea_to_rsp(code, rel)) {
			rel += 4;
			continue;
		}
		if (*p == 0x41) { /* r8 to r15 */
			rel++;
			p++;
		}
		if ((*p & 0xf8) != 0x58)
			return false;
		rel++;
	}
	return false;
}
