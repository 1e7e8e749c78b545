/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"
#include "unwind/unw_walk_impl.h"

enum { CALL_REL32 = 0xe8, CALL_BYTES = 5, MAX_BACK = 512, MAX_FUNCTION = 4096 };

/** Of libgcc's struct _Unwind_Context on x86-64: after 18 registers and the CFA. */
enum { RA_OF_CONTEXT = 19 * 8 };

/** Is there a call at @p at? Perhaps not the start of an instruction: then it hardly leads into the
 * code. */
static bool is_call(const struct unw_image *image, uint64_t at, uint64_t *ret_target)
{
	const uint8_t *code = unw_image_code(image, at, CALL_BYTES);
	uint64_t rel;

	if (!code || *code != CALL_REL32)
		return false;
	*ret_target = at + CALL_BYTES + (uint64_t)(int32_t)load_u32(code + 1, image->is_swapped);
	return unw_image_rel(image, *ret_target, &rel);
}

/** Code that does nothing, such as _Unwind_DebugHook(), where debuggers stop. */
static bool only_returns(const struct unw_image *image, uint64_t target)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa}, rep_ret[] = {0xf3, 0xc3};
	const uint8_t *code = unw_image_code(image, target, sizeof(endbr64));

	if (code && !memcmp(code, endbr64, sizeof(endbr64)))
		target += sizeof(endbr64);
	code = unw_image_code(image, target, sizeof(rep_ret));
	return code && (*code == rep_ret[1] || !memcmp(code, rep_ret, sizeof(rep_ret)));
}

/** The call at @p call passes a place in the frame as its first argument, in a register that is
 * loaded with it once from @p start on. */
static bool first_argument(const struct unw_image *image, uint64_t start, uint64_t call,
			   int32_t *ret_off)
{
	enum {
		MOV_TO_RDI_BYTES = 3,
		LEA_BYTES = 7,
		REX_W = 0x48,
		REX_R = 4,
		MOV = 0x89,
		LEA = 0x8d
	};
	enum { TO_RDI = 0xc7, FROM_RBP = 0x85 };
	const uint8_t *move = unw_image_code(image, call - MOV_TO_RDI_BYTES, MOV_TO_RDI_BYTES);
	const uint8_t *code = unw_image_code(image, start, call - start);
	unsigned nr_found = 0;

	if (!move || !code || (move[0] & ~REX_R) != REX_W || move[1] != MOV ||
	    (move[2] & TO_RDI) != TO_RDI)
		return false;
	for (uint64_t i = 0; i + LEA_BYTES <= call - start; i++) {
		if (code[i] != move[0] || code[i + 1] != LEA ||
		    code[i + 2] != (FROM_RBP | (move[2] & 0x38)))
			continue;
		*ret_off = (int32_t)load_u32(code + i + 3, image->is_swapped);
		nr_found++;
	}
	return nr_found == 1;
}

bool eh_return_find(const struct unw_image *image, uint64_t start, uint64_t from, uint64_t handover,
		    struct eh_return *ret)
{
	uint64_t target;

	*ret = (struct eh_return){0};
	if (handover - from > MAX_BACK)
		from = handover - MAX_BACK;
	if (handover - from < CALL_BYTES)
		return false;
	for (uint64_t at = handover - CALL_BYTES; at >= from; at--) {
		if (!is_call(image, at, &target))
			continue;
		ret->call = at;
		ret->after = at + CALL_BYTES;
		if (!ret->handing_over)
			ret->handing_over = ret->after;
		if (only_returns(image, target))
			continue;
		if (at - start <= MAX_FUNCTION && at - start > CALL_BYTES &&
		    first_argument(image, start, at, &ret->ra_off) &&
		    !__builtin_add_overflow(ret->ra_off, RA_OF_CONTEXT, &ret->ra_off))
			ret->has_ra = true;
		break;
	}
	return ret->call;
}

bool eh_fp_is_popped(const struct unw_image *image, uint64_t at, uint64_t *ret_from)
{
	enum { POP_RBP = 0x5d, WINDOW = 8 };
	struct unw_code c = {.code = unw_image_code(image, at, WINDOW), .code_bytes = WINDOW};
	uint64_t popped;

	if (!c.code)
		return false;
	popped = *c.code == POP_RBP;
	*ret_from = at + popped;
	return unw_code_is_return(&c, popped);
}
