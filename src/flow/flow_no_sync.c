/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"

/* clang-format off */
static const struct {
	const char *word, *text;
} reasons[NR_FLOW_NO_SYNCS] = {
	[FLOW_NO_SYNC_INIT] = {"init-decoder", "start"},
	[FLOW_NO_SYNC_RESET] = {"reset-decoder", "the trace was cut here, or bytes of it were lost"},
	[FLOW_NO_SYNC_OVERFLOW] = {"overflow", "overflow: the trace unit could not write fast enough"},
	[FLOW_NO_SYNC_DISCARD] = {"discard", "the trace unit stopped"},
	[FLOW_NO_SYNC_BAD_PACKET] = {"bad-packet", "bad packet"},
	[FLOW_NO_SYNC_BAD_IMAGE] = {"bad-program-image", "the code is not the code that ran"},
};
/* clang-format on */

const char *flow_no_sync_word(enum flow_no_sync reason)
{
	return reasons[reason].word;
}

const char *flow_no_sync_text(enum flow_no_sync reason)
{
	return reasons[reason].text;
}
