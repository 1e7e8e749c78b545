/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: spe_text < BYTES: the SPE packets of an AUX buffer, as `perf script -D` prints them. */
#include <stdio.h>

#include "format/trace/spe_dump.h"

int main(void)
{
	struct buf in = {0}, text = {0};
	char piece[4096];
	size_t n;
	int status = 1;

	while ((n = fread(piece, 1, sizeof(piece), stdin)))
		buf_add(&in, piece, n);
	spe_dump(&text, (const uint8_t *)in.data, in.nr, 0, SPE_CORE_UNKNOWN);
	if (!in.is_failed && !text.is_failed && fwrite(text.data, 1, text.nr, stdout) == text.nr)
		status = fflush(stdout) != 0;
	buf_done(&text);
	buf_done(&in);
	return status;
}
