/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "golden/pt_golden.h"

/* Usage: pt_trace_golden DIR (format: pt/README.md) */
int main(int argc, char **argv)
{
	return golden_check_all(&pt_golden_unit, argc == 2 ? argv[1] : "");
}
