/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "unwind/eh_frame_impl.h"

enum { CALL_REL32 = 0xe8, CALL_BYTES = 5, MAX_BACK = 512 };

uint64_t eh_return_from(const struct unw_image *image, uint64_t from, uint64_t handover)
{
	uint64_t rel;

	if (handover - from > MAX_BACK)
		from = handover - MAX_BACK;
	for (uint64_t at = handover - CALL_BYTES; handover - from >= CALL_BYTES && at >= from;
	     at--) {
		const uint8_t *code = unw_image_code(image, at, CALL_BYTES);

		/* Not the start of an instruction for sure: then it hardly leads into the code. */
		if (code && *code == CALL_REL32 &&
		    unw_image_rel(image,
				  at + CALL_BYTES +
					  (uint64_t)(int32_t)load_u32(code + 1, image->is_swapped),
				  &rel))
			return at;
	}
	return handover;
}
