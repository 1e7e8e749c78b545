/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef UNWIND_EH_FRAME_IMPL_H
#define UNWIND_EH_FRAME_IMPL_H

#include "unwind/eh_frame.h"
#include "unwind/eh_frame_hdr.h"

/*
 * Inside of the compiler: records (eh_frame.c) hold programs (eh_frame_cfi.c), which change a
 * state; states hold expressions (eh_frame_expr.c) and become rules (eh_frame_rule.c).
 */

/** The registers with rules that matter. The rules of all others are parsed and ignored. */
enum eh_slot { EH_FP, EH_RA, EH_SP, EH_RBX, NR_EH_SLOTS };

enum eh_kind {
	EH_DEFAULT, /* not mentioned */
	EH_SAME,
	EH_UNDEFINED,
	EH_OFFSET,     /* *(CFA + off) */
	EH_VAL_OFFSET, /* CFA + off */
	EH_REGISTER,   /* in reg */
	EH_EXPRESSION, /* *(expr) */
	EH_VAL_EXPRESSION
};

/** Symbolic value of an expression. */
enum eh_form_kind {
	EH_NO_FORM,
	EH_CONST,     /* off */
	EH_OF_REG,    /* reg + off */
	EH_OF_CFA,    /* CFA + off */
	EH_DEREF_REG, /* *(reg + off) + off2 */
	EH_DEREF_CFA, /* *(CFA + off) + off2 */
	EH_PLT,       /* UNW_CFA_PLT, threshold off */
	EH_INDEX      /* *(reg + off + 8 * index) + off2 */
};

struct eh_form {
	enum eh_form_kind kind;
	uint64_t reg;
	int64_t off, off2;
	uint8_t index; /* register of EH_INDEX */
};

struct eh_reg {
	enum eh_kind kind;
	uint64_t reg;
	int64_t off;
	struct eh_form form; /* of an expression */
};

struct eh_state {
	struct eh_reg regs[NR_EH_SLOTS];
	struct eh_reg cfa; /* EH_DEFAULT: none yet; EH_REGISTER: reg + off; EH_VAL_EXPRESSION */
	bool is_signed;    /* aarch64 RA_SIGN_STATE */
};

/** What a record and its CIE say of the machine and its pointers. */
struct eh_cie {
	uint64_t code_align, ra_reg;
	int64_t data_align;
	uint8_t encoding; /* of FDE pointers */
	bool has_data;    /* FDEs hold augmentation data */
	bool is_signal, is_key_b;
	bool is_whole; /* false: instructions are damaged, see why */
	enum unw_why why;
	struct eh_state initial;
};

struct eh_target {
	const struct unw_image *image;
	enum unw_arch arch;
	enum unw_origin origin;
	struct eh_bases bases;
	uint64_t fp, sp, pc; /* numbers; pc: x86-64's pseudo register, UINT64_MAX: none */
	uint64_t ra;         /* where a call leaves the return address */
	uint64_t rbx;        /* UNW_RBX of x86-64, UINT64_MAX: the machine has none */
};

/** Run @p expr. @p has_cfa: the CFA is on the stack at first, as for registers. EH_NO_FORM: an
 * expression that is none of these. O(its bytes), so run it once, not for each row. */
struct eh_form eh_form_of(struct bytes expr, bool has_cfa, const struct eh_target *t);

/** The rule that @p s is, and whether an FP with a rule was lost. */
struct unw_rule eh_rule_of(const struct eh_state *s, const struct eh_cie *cie,
			   const struct eh_target *t, bool *ret_fp_lost);

/** Run a CIE's instructions: fills initial, is_whole and why. */
void eh_run_cie(struct eh_cie *cie, const struct eh_target *t, struct bytes program);

/** A function's place: [start, end) by link-time address, rel of its start. */
struct eh_extent {
	uint64_t start, end, rel;
};

/** How x86-64 code enters an exception handler (__builtin_eh_return). */
struct eh_return {
	/* The last call that does a thing: it writes the handler's registers and return address
	 * over those that are saved. */
	uint64_t call, after;
	/* From here on, after the last call, the handler's address is put where a caller's frame
	 * returns to. */
	uint64_t handing_over;
	bool has_ra;
	int32_t ra_off; /* its own return address is still at *(rbp + ra_off) */
};

/** @p start: of the function; @p handover: where the CFA moves to rcx. @return false: no such call
 * in [@p from, @p handover). */
bool eh_return_find(const struct unw_image *image, uint64_t start, uint64_t from, uint64_t handover,
		    struct eh_return *ret);

/**
 * x86-64: does the code at @p at, where a row begins, only pop registers and return? *ret_from:
 * from where on FP is popped. GCC leaves "FP is where FP points" in functions that realign.
 */
bool eh_fp_is_popped(const struct unw_image *image, uint64_t at, uint64_t *ret_from);

/** Run an FDE's instructions; rows go to @p ret. */
void eh_run_fde(const struct eh_cie *cie, const struct eh_target *t, const struct eh_extent *extent,
		struct bytes program, struct unw_list *ret, struct eh_frame_counts *counts);

#endif
