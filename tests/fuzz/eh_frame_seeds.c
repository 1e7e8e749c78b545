/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: eh_frame_seeds DIR: write inputs for eh_frame_fuzz to start from. */
#include <stdio.h>

#include "prop/eh_frame_use.h"

int main(int argc, char **argv)
{
	struct buf b = {0};
	char path[4096];

	if (argc < 2)
		return 2;
	for (unsigned int i = 0; eh_frame_seed(i, &b); i++, buf_clear(&b)) {
		FILE *f;

		snprintf(path, sizeof(path), "%s/seed%u", argv[1], i);
		f = fopen(path, "wb");
		if (!f || fwrite(b.data, 1, b.nr, f) != b.nr || fclose(f))
			return 1;
	}
	buf_done(&b);
	return 0;
}
