/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "rows/report_feed_impl.h"

bool feed_take_key(struct report_feed *f, uint64_t bytes)
{
	return budget_account_take(&f->account, bytes + FEED_KEY_BYTES, "sort keys of");
}

enum clew_err feed_weigh(struct report_feed *f, struct report_event *ev, uint32_t key,
			 uint32_t node, uint64_t nr, uint64_t period)
{
	enum clew_err err = report_weights_add(&ev->weights, &f->tree, key, node, nr, period);

	ev->nr_no_room += err == CLEW_LIMIT ? nr : 0;
	return err == CLEW_LIMIT ? CLEW_OK : err;
}
