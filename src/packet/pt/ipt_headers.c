/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_headers.h"

/* Spec: Intel SDM volume 3, "Intel Processor Trace", "Packet Generation". */

const uint8_t ipt_psb[IPT_PSB_BYTES] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

const uint8_t ipt_address_bytes[8] = {0, 2, 4, 6, 6, 0xff, 8, 0xff};

/* Even bytes are TNT, those that end in the bits 11 CYC. A row of the table names the others, which
 * end in 0001, 1001 and 1101; 0101 is reserved. */
/* clang-format off */
#define TNT {IPT_TNT, 1}
#define CYC {IPT_CYC, 1}
#define REST(row, x1, bytes_1, x9, bytes_9, xd, bytes_d) \
	[row + 1] = {IPT_##x1, bytes_1}, [row + 3] = CYC, [row + 4] = TNT, [row + 6] = TNT, [row + 7] = CYC, \
	[row + 8] = TNT, [row + 9] = {IPT_##x9, bytes_9}, [row + 10] = TNT, [row + 11] = CYC, \
	[row + 12] = TNT, [row + 13] = {IPT_##xd, bytes_d}, [row + 14] = TNT, [row + 15] = CYC
#define ROW(row, x1, bytes_1, x9, bytes_9, xd, bytes_d) \
	[row] = TNT, [row + 2] = TNT, REST(row, x1, bytes_1, x9, bytes_9, xd, bytes_d)

const struct ipt_header ipt_headers[256] = {
	[0x00] = {IPT_PAD, 1}, [0x02] = {IPT_BAD, 2},
	/*         x1          x9       xd */
	REST(0x00, TIP_PGD, 1, BAD,  0, TIP, 1),
	ROW(0x10,  TIP_PGE, 1, TSC,  8, FUP, 1),
	ROW(0x20,  TIP_PGD, 3, BAD,  0, TIP, 3),
	ROW(0x30,  TIP_PGE, 3, BAD,  0, FUP, 3),
	ROW(0x40,  TIP_PGD, 5, BAD,  0, TIP, 5),
	ROW(0x50,  TIP_PGE, 5, MTC,  2, FUP, 5),
	ROW(0x60,  TIP_PGD, 7, BAD,  0, TIP, 7),
	ROW(0x70,  TIP_PGE, 7, BAD,  0, FUP, 7),
	ROW(0x80,  TIP_PGD, 7, BAD,  0, TIP, 7),
	ROW(0x90,  TIP_PGE, 7, MODE, 2, FUP, 7),
	ROW(0xa0,  BAD,     0, BAD,  0, BAD, 0),
	ROW(0xb0,  BAD,     0, BAD,  0, BAD, 0),
	ROW(0xc0,  TIP_PGD, 9, BAD,  0, TIP, 9),
	ROW(0xd0,  TIP_PGE, 9, TRIG, 3, FUP, 9),
	ROW(0xe0,  BAD,     0, BAD,  0, BAD, 0),
	ROW(0xf0,  BAD,     0, BAD,  0, BAD, 0),
};

#define KIND(kind, bytes) {IPT_##kind, bytes}
const struct ipt_header ipt_second[256] = {
	[0x03] = KIND(CBR, 4),
	[0x12] = KIND(PTW, 6),
	[0x13] = KIND(CFE, 4),
	[0x22] = KIND(PWRE, 4),
	[0x23] = KIND(PSBEND, 2),
	[0x32] = KIND(PTW, 10),
	[0x33] = KIND(BEP, 2),
	[0x43] = KIND(PIP, 8),
	[0x53] = KIND(EVD, 11),
	[0x62] = KIND(EXSTOP, 2),
	[0x63] = KIND(BBP, 3),
	[0x73] = KIND(TMA, 7),
	[IPT_PSB_SECOND] = KIND(PSB, 16),
	[0x83] = KIND(TRACESTOP, 2),
	[0x92] = KIND(PTW, 6),
	[0xa2] = KIND(PWRX, 7),
	[IPT_TNT_LONG] = KIND(TNT, 8),
	[0xb2] = KIND(PTW, 10),
	[0xb3] = KIND(BEP, 2),
	[0xc2] = KIND(MWAIT, 10),
	[0xc3] = KIND(MNT, 11),
	[0xc8] = KIND(VMCS, 7),
	[0xe2] = KIND(EXSTOP, 2),
	[0xf3] = KIND(OVF, 2),
};
/* clang-format on */
