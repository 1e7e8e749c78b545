/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_PAGE_PAGE_GZIP_H
#define FORMAT_PAGE_PAGE_GZIP_H

#include "base/buf.h"
#include "base/sink.h"

/*
 * Bytes packed by gzip, as base64 in script blocks of a page:
 *
 *	<script type="application/octet-stream" id="data-0">...</script>
 *
 * The header of gzip has neither a time nor a name: equal bytes in, equal bytes out.
 */
struct page_gzip;

/** @p name: of the blocks: "data" above; borrowed, as is @p sink. NULL: no memory. */
struct page_gzip *page_gzip_new(const struct clew_sink *sink, const char *name);
void page_gzip_free(struct page_gzip *z);

/** What is written there is packed. Lives as long as @p z. */
const struct clew_sink *page_gzip_sink(struct page_gzip *z);
enum clew_err page_gzip_add(struct page_gzip *z, const void *data, size_t size);
enum clew_err page_gzip_end(struct page_gzip *z);

#endif
