/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Usage: eh_frame_seeds DIR: write inputs for eh_frame_fuzz to start from. */
#include "fuzz/fuzz_seeds.h"
#include "prop/eh_frame_use.h"

int main(int argc, char **argv)
{
	struct buf b = {0};
	int status = 0;

	if (argc < 2)
		return 2;
	for (unsigned int i = 0; eh_frame_seed(i, &b); i++, buf_clear(&b))
		status |= fuzz_seed_write(argv[1], i, &b);
	buf_done(&b);
	return status;
}
