/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PERFDATA_SAMPLE_REWRITE_H
#define PERFDATA_SAMPLE_REWRITE_H

#include "base/buf.h"
#include "perfdata/perf_sample.h"

/** What becomes of a sample on its way into the file. */
struct sample_edit {
	const uint64_t *words; /* added after its call chain, the last of which give way where the
				  record would grow past what a header can hold */
	uint32_t nr_words;
	bool replaces_chain; /* words stand in place of the chain: sample_chain_room() says how
				many can */
	bool drops_regs, drops_stack; /* user registers, user stack */
};

/**
 * Append the edited record to @p out. @p record: a whole PERF_RECORD_SAMPLE of @p size bytes, in
 * the host's byte order, of which @p s is the parse with @p attr (which has CALLCHAIN).
 * @return words added to the chain; UINT32_MAX: there is no room for them (the record is then
 * appended as it was) or out of memory (out says).
 */
uint32_t sample_rewrite(struct buf *out, const uint8_t *record, size_t size,
			const struct perf_attr *attr, const struct perf_sample *s,
			const struct sample_edit *e);

/** How many words the chain of such a sample of @p size bytes can have, all else as it is. */
uint32_t sample_chain_room(size_t size, const struct perf_sample *s);

#endif
