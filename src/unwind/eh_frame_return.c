/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"

enum { CALL_REL32 = 0xe8, CALL_BYTES = 5, MAX_BACK = 512 };

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

uint64_t eh_return_from(const struct unw_image *image, uint64_t from, uint64_t handover)
{
	uint64_t target, found = handover;

	if (handover - from > MAX_BACK)
		from = handover - MAX_BACK;
	if (handover - from < CALL_BYTES)
		return handover;
	for (uint64_t at = handover - CALL_BYTES; at >= from; at--) {
		if (!is_call(image, at, &target))
			continue;
		found = at + CALL_BYTES;
		if (!only_returns(image, target))
			break;
	}
	return found;
}
