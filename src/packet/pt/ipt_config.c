/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_config.h"

enum {
	BROADWELL = IPT_BDM64,
	/* The first ones with CYC. */
	SKYLAKE = IPT_SKD007 | IPT_SKD010 | IPT_SKD022 | IPT_SKL014 | IPT_SKL168,
	LATER = IPT_SKD022 | IPT_SKL014,
	SERVER = LATER | IPT_SKZ84,
	ATOM = IPT_APL11,
};

uint16_t ipt_errata_of(unsigned int family, unsigned int model)
{
	static const uint16_t of_model[256] = {
		[0x3d] = BROADWELL,
		[0x47] = BROADWELL,
		[0x4f] = BROADWELL,
		[0x56] = BROADWELL,
		[0x4e] = SKYLAKE,
		[0x5e] = SKYLAKE,
		[0x8e] = SKYLAKE,
		[0x9e] = SKYLAKE,
		[0xa5] = SKYLAKE,
		[0xa6] = SKYLAKE,
		[0x55] = SERVER,
		[0x6a] = SERVER,
		[0x6c] = SERVER,
		[0x8f] = SERVER,
		[0x66] = LATER,
		[0x7d] = LATER,
		[0x7e] = LATER,
		[0x8c] = LATER,
		[0x8d] = LATER,
		[0xa7] = LATER,
		[0xa8] = LATER,
		[0x97] = LATER | ATOM,
		[0x9a] = LATER | ATOM,
		[0xbf] = LATER | ATOM,
		[0x5c] = ATOM | IPT_APL12,
		[0x5f] = ATOM | IPT_APL12,
		[0x7a] = ATOM,
		[0x86] = ATOM,
		[0x96] = ATOM,
		[0x9c] = ATOM,
	};

	return family == 6 && model < 256 ? of_model[model] : 0;
}
