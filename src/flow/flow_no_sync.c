/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "flow/flow.h"

/* clang-format off */
static const char *const texts[NR_FLOW_NO_SYNCS] = {
	[FLOW_NO_SYNC_INIT] = "start",
	[FLOW_NO_SYNC_RESET] = "the trace was cut here, or bytes of it were lost",
	[FLOW_NO_SYNC_OVERFLOW] = "overflow: the trace unit could not write fast enough",
	[FLOW_NO_SYNC_DISCARD] = "the trace unit stopped",
	[FLOW_NO_SYNC_BAD_PACKET] = "bad packet",
	[FLOW_NO_SYNC_BAD_IMAGE] = "the code is not the code that ran",
};
/* clang-format on */

const char *flow_no_sync_text(enum flow_no_sync reason)
{
	return texts[reason];
}
