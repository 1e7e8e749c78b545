/* SPDX-License-Identifier: LGPL-2.1-or-later */
void in_library(void);

static volatile unsigned long sum;

__attribute__((noinline)) void in_library(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sum += i;
}
