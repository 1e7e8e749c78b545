/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef CLI_ANNOTATE_PAGE_H
#define CLI_ANNOTATE_PAGE_H

#include "base/sink.h"
#include "format/page/page_gzip.h"
#include "os/output.h"

/** `clew annotate --html FILE`: the JSON of --json as the data of a page. Zeroed: none. */
struct annotate_page {
	const char *path;
	struct os_output out;
	struct clew_sink file;
	struct page_gzip *gzip;
	int os_errno; /* of the file, negative */
	bool is_open;
};

/** @p ret: takes the JSON. @return CLI_OK, or CLI_FAILED after a message. */
int annotate_page_open(struct annotate_page *p, const char *path, struct clew_sink *ret);

/** @p is_kept: with all that is written, else the file is removed. @return CLI_OK, or CLI_FAILED
 * after a message. */
int annotate_page_close(struct annotate_page *p, bool is_kept);

#endif
