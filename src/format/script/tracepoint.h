/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_TRACEPOINT_H
#define FORMAT_SCRIPT_TRACEPOINT_H

#include "base/buf.h"
#include "base/bytes.h"

/*
 * Raw tracepoint payloads as text and as fields, by the formats that the recording carries
 * (TRACING_DATA), over libtraceevent. One thread at a time.
 */
struct tracepoints;

/** Names a kernel address for "%pS"; NULL: unknown. */
typedef const char *tracepoint_resolve_fn(void *ctx, uint64_t addr, uint64_t *ret_start);

/**
 * @p data: the TRACING_DATA section or record payload; what it holds is copied. Formats after a
 * truncation are missing.
 * @return NULL when memory is short or the data has no usable header.
 */
struct tracepoints *tracepoints_new(struct bytes data);
void tracepoints_free(struct tracepoints *t);

/** @p resolve is called while text is made. */
void tracepoints_set_resolver(struct tracepoints *t, tracepoint_resolve_fn *resolve, void *ctx);

/** Does the text of event @p id name kernel addresses? */
bool tracepoint_wants_symbols(const struct tracepoints *t, uint64_t id);

/** "sched:sched_switch", or NULL for an unknown id. Lives as long as @p t. */
const char *tracepoint_name(struct tracepoints *t, uint64_t id);

/** Append the event's text. @return false: no format for @p id, nothing was added. */
bool tracepoint_add_text(struct tracepoints *t, uint64_t id, uint32_t cpu, struct bytes raw,
			 struct buf *ret);

/** Append "prev_comm,prev_pid": the fields but the common_ ones. @return false: no format for @p
 * id. */
bool tracepoint_add_field_names(struct tracepoints *t, uint64_t id, struct buf *ret);

/** One field of a payload. */
struct tracepoint_field {
	const char *name;
	enum { TRACEPOINT_SIGNED, TRACEPOINT_UNSIGNED, TRACEPOINT_TEXT, TRACEPOINT_BYTES } kind;
	int64_t number;     /* SIGNED; UNSIGNED as its bits */
	struct bytes bytes; /* TEXT (without NUL) and BYTES: inside the payload */
};

/** Call @p each for every field but the common_ ones. @return false: no format for @p id. */
bool tracepoint_each_field(struct tracepoints *t, uint64_t id, struct bytes raw,
			   void (*each)(void *ctx, const struct tracepoint_field *f), void *ctx);

#endif
