/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/etm/etm_flow.h"

/* clang-format off */
static const struct {
	const char *word, *text;
} reasons[NR_ETM_NO_SYNCS] = {
	[ETM_NO_SYNC_INIT] = {"init-decoder", "start"},
	[ETM_NO_SYNC_RESET] = {"reset-decoder", "the trace was cut here, or bytes of it were lost"},
	[ETM_NO_SYNC_OVERFLOW] = {"overflow", "overflow: the trace unit could not write fast enough"},
	[ETM_NO_SYNC_DISCARD] = {"discard", "the trace unit stopped"},
	[ETM_NO_SYNC_BAD_PACKET] = {"bad-packet", "bad packet"},
	[ETM_NO_SYNC_BAD_IMAGE] = {"bad-program-image", "the code is not the code that ran"},
};
/* clang-format on */

const char *etm_no_sync_word(enum etm_no_sync reason)
{
	return reasons[reason].word;
}

const char *etm_no_sync_text(enum etm_no_sync reason)
{
	return reasons[reason].text;
}
