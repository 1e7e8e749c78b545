/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A library for top_churn, and a program that never ends. */
void top_spin(void);
void top_other(void);

static volatile unsigned long sum;

__attribute__((noinline, noclone, visibility("default"))) void top_spin(void)
{
	for (unsigned long i = 0; i < 300000; i++)
		sum += i;
}

__attribute__((noinline, noclone)) void top_other(void)
{
	for (unsigned long i = 0; i < 100000; i++)
		sum += i;
}

int main(void)
{
	for (;;) {
		top_spin();
		top_other();
	}
}
