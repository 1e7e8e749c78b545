/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <clew/version.h>

const char *clew_version(void)
{
	return CLEW_VERSION;
}

unsigned int clew_version_number(void)
{
	return CLEW_VERSION_NUMBER;
}
