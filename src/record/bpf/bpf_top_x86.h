/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef RECORD_BPF_BPF_TOP_X86_H
#define RECORD_BPF_BPF_TOP_X86_H

/* What the instructions of x86-64 show of a frame. Part of bpf_step.h. */

/* Do the eight bytes before a return address, the last in the top byte, end in a call? E8 rel32, or
 * FF /2 with its address. */
__weak __noinline int is_call(uint64_t code)
{
	uint32_t len;

	if ((code >> 24 & 0xff) == 0xe8)
		return true;
#pragma unroll
	for (len = 2; len <= 7; len++) {
		uint32_t op = code >> (64 - 8 * len) & 0xff, modrm = code >> (72 - 8 * len) & 0xff;
		uint32_t mod = modrm >> 6, rm = modrm & 7, size = 2;

		if (op != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4) {
			uint32_t sib = len > 2 ? code >> (80 - 8 * len) & 0xff : 0;

			size += 1 + (!mod && (sib & 7) == 5 ? 4 : 0);
		} else if (!mod && rm == 5) {
			size += 4;
		}
		size += mod == 1 ? 1 : mod == 2 ? 4 : 0;
		if (len == size)
			return true;
	}
	return false;
}

/* Code that no source covers, at an instruction where nothing of its own lies on the stack: an
 * entry (endbr64, push rbp, sub rsp), a return, or after a system call, as in _init and clone3.
 * Two words of code, the second at pc, decide. @return how sure that is (enum unw_origin); 0: it is
 * not. */
static __always_inline uint8_t is_bare(const uint64_t *code)
{
	uint64_t at = code[1];

	if ((at & 0xff) == 0xc3)
		return UNW_DERIVED;
	if ((at & 0xffffffff) == 0xe5894855 || (at & 0xffffffff) == 0xec8b4855)
		return UNW_FP_PROLOGUE;
	return code[0] >> 48 == 0x050f || (at & 0xff) == 0x55 || (at & 0xffffffff) == 0xfa1e0ff3 ||
			       (at & 0xffffff) == 0xec8348
		     ? UNW_FP
		     : 0;
}

/* Does the direct call before @p ra, if the word before that is @p code, lead into the function
 * that holds pc, and not after pc? */
static __always_inline bool is_called_from(struct walk *w, struct walk_vma *v, uint64_t ra,
					   uint64_t code)
{
	uint64_t target = ra + (uint64_t)(int64_t)(int32_t)(code >> 32);

	return (code >> 24 & 0xff) == 0xe8 && target <= w->pc && target >= function_start(w, v);
}

/* The return address on top of the stack, of a function without a frame. */
static __always_inline bool step_top(struct walk *w, struct walk_vma *v, struct step *s,
				     const enum walk_way way, struct task_struct *task)
{
	uint64_t *code = w->interrupted;

	if (!w->is_exact || read_user(w, way, code, 16, w->pc - 8, task))
		return false;
	s->method = is_bare(code);
	if (!get_word(w, w->r[REG_SP], &s->ra, way, task) ||
	    read_user(w, way, code, 8, s->ra - 8, task))
		return false;
	if (is_called_from(w, v, s->ra, code[0]))
		s->method = UNW_DERIVED;
	else if (!s->method || !is_call(code[0]))
		return false;
	s->cfa = w->r[REG_SP] + 8;
	s->rbx_at = RBX_LOST;
	s->fp = w->r[REG_FP];
	s->keeps_fp = w->known >> REG_FP & 1;
	s->is_signal = false;
	return true;
}

#endif
