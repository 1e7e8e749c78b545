/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_HEADER_ATTR_TEXT_H
#define FORMAT_HEADER_ATTR_TEXT_H

#include "base/buf.h"
#include "perfdata/perf_attr.h"

/** How a value is written. */
enum attr_kind {
	ATTR_DECIMAL,
	ATTR_SIGNED,
	ATTR_HEX,
	ATTR_SAMPLE_TYPE,
	ATTR_READ_FORMAT,
	ATTR_BRANCH
};

/** One field of an attr that is not zero. */
struct attr_field {
	const char *name; /* as perf prints it, such as "{ wakeup_events, wakeup_watermark }" */
	const char *json; /* one word */
	enum attr_kind kind;
	uint64_t value;
};

/** The fields that are set, in the order of `perf evlist -v`. */
void attr_each_field(const struct perf_attr *a, void (*each)(void *ctx, const struct attr_field *f),
		     void *ctx);

/** The field's value as perf prints it: "112", "0x9", "IP|TID|TIME". */
void attr_field_text(struct buf *out, const struct attr_field *f);

/** All fields: "type: 1, size: 112", with @p is between name and value. */
void attr_text(struct buf *out, const struct perf_attr *a, const char *is);

/** Call @p each with the name of every bit that is set in a field of a bit-name kind. */
void attr_field_each_bit(const struct attr_field *f, void (*each)(void *ctx, const char *name),
			 void *ctx);

#endif
