/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/coresight/cs_dstream.h"

#include "base/bytes.h"

enum {
	MOST_BLOCKS = 4096, /* looked at */
	LAST_BYTE = 0x0f,
};

static const uint8_t *footer(const uint8_t *data, size_t block)
{
	return data + block * CS_DSTREAM_BLOCK + CS_DSTREAM_TRACE;
}

/** Are both ends of it as captures have them? */
static bool is_known(const uint8_t *f)
{
	uint32_t flags = load_le32(f);

	return (!flags || flags == 0x02 || flags == 0x80000000) && (f[4] == 0x7e || !f[4]) &&
	       f[7] == LAST_BYTE;
}

/** Is @p next one less? Whether the last byte takes part, no capture is long enough to show. */
static bool counts_down(const uint8_t *f, const uint8_t *next)
{
	return next[6] == (uint8_t)(f[6] - 1) && (next[7] == f[7] || !f[6]);
}

static bool is_footer(const uint8_t *data, size_t nr, size_t i)
{
	const uint8_t *f = footer(data, i);

	return is_known(f) || (i && counts_down(footer(data, i - 1), f)) ||
	       (i + 1 < nr && counts_down(f, footer(data, i + 1)));
}

bool cs_is_dstream(const uint8_t *data, size_t bytes)
{
	size_t nr = bytes / CS_DSTREAM_BLOCK, nr_good = 0;

	if (nr > MOST_BLOCKS)
		nr = MOST_BLOCKS;
	for (size_t i = 0; i < nr; i++)
		nr_good += is_footer(data, nr, i);
	return nr && nr_good >= nr - nr / 4;
}
