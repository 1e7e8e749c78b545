/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_PERF_AUX_WORDS_H
#define TRACE_PERF_AUX_WORDS_H

#include "base/bytes.h"
#include "perfdata/perf_record.h"

/* AUXTRACE_INFO of perf's protocols: words of 64 bits, in blocks. */

enum { AUX_MAX_WORDS = 1 << 16 /* of a block */ };

struct aux_words {
	struct bytes in;
	bool swap;
};

static inline struct aux_words aux_words_of(const struct perf_record *r,
					    const struct perf_auxtrace_info *info)
{
	return (struct aux_words){bytes_of(info->priv, 8 * (size_t)info->nr_priv), r->swap};
}

static inline bool aux_words_next(struct aux_words *w, uint64_t *ret)
{
	return bytes_u64(&w->in, w->swap, ret);
}

/** A block of @p nr words. @return false: it does not fit. */
static inline bool aux_words_take(struct aux_words *w, uint64_t nr, struct aux_words *ret)
{
	ret->swap = w->swap;
	return nr <= AUX_MAX_WORDS && bytes_take(&w->in, 8 * (size_t)nr, &ret->in);
}

/** Word @p i of a block; @p otherwise where the block ends before it. */
static inline uint64_t aux_words_at(const struct aux_words *block, unsigned int i,
				    uint64_t otherwise)
{
	size_t at = 8 * (size_t)i;

	return bytes_left(&block->in) < at + 8 ? otherwise
					       : load_u64(block->in.pos + at, block->swap);
}

#endif
