/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/etm/etm_headers.h"

/* clang-format off */
#define HEADER(k, p, f, v) {ETM_##k, ETM_PAYLOAD_##p, ETM_FORM_##f, v}

/* Whatever is not named is reserved: ETM_BAD. Spec: IHI 0064 "Packet headers"; ETE: DDI 0487 "ETE
 * packet encodings". */
const struct etm_header etm_headers[256] = {
	[0x00]          = HEADER(ASYNC,               EXTENSION,       NONE,  0x40), /* 00 .. 80; 03 discard; 05 overflow */
	[0x01]          = HEADER(TRACE_INFO,          TRACE_INFO,      NONE,  0x40), /* PLCTL+ [INFO] [KEY] [SPEC] [CYCT] [WNDW] */
	[0x02 ... 0x03] = HEADER(TIMESTAMP,           TIMESTAMP,       NONE,  0x40), /* up to 9 bytes; 03: then a cycle count */
	[0x04]          = HEADER(TRACE_ON,            NONE,            NONE,  0x40),
	[0x05]          = HEADER(FUNC_RET,            NONE,            NONE,  0x42), /* v8-M */
	[0x06]          = HEADER(EXCEPT,              EXCEPTION,       NONE,  0x40), /* ETE: PE_RESET, TRANS_FAIL too */
	[0x07]          = HEADER(EXCEPT_RTN,          NONE,            NONE,  0x40), /* not ETE */
	[0x09]          = HEADER(ITE,                 ITE,             NONE,  0x53), /* EL, 64 bits */
	[0x0a]          = HEADER(TRANS_ST,            NONE,            NONE,  0x50),
	[0x0b]          = HEADER(TRANS_COMMIT,        NONE,            NONE,  0x50),
	[0x0c ... 0x0d] = HEADER(CCNT_F2,             COUNT_2,         NONE,  0x40), /* AAAABBBB */
	[0x0e ... 0x0f] = HEADER(CCNT_F1,             COUNT_1,         NONE,  0x40), /* [commit] [count] */
	[0x10 ... 0x1f] = HEADER(CCNT_F3,             COUNT_3,         NONE,  0x40),
	[0x20 ... 0x2c] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40), /* data sync markers */
	[0x2d]          = HEADER(COMMIT,              COMMIT,          NONE,  0x40),
	[0x2e]          = HEADER(CANCEL_F1,           CANCEL,          NONE,  0x40),
	[0x2f]          = HEADER(CANCEL_F1_MISPRED,   CANCEL,          NONE,  0x40),
	[0x30 ... 0x33] = HEADER(MISPREDICT,          CANCEL,          NONE,  0x40),
	[0x34 ... 0x37] = HEADER(CANCEL_F2,           CANCEL,          NONE,  0x40),
	[0x38 ... 0x3f] = HEADER(CANCEL_F3,           CANCEL,          NONE,  0x40),
	[0x40 ... 0x46] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40), /* conditional instructions: */
	[0x48 ... 0x4a] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40),
	[0x4c ... 0x4e] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40),
	[0x50 ... 0x5f] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40),
	[0x68 ... 0x6f] = HEADER(UNSUPPORTED,         NONE,            NONE,  0x40),
	[0x70]          = HEADER(IGNORE,              NONE,            NONE,  0x40), /* from 4.3; TRBE drivers fill gaps with it */
	[0x71 ... 0x7f] = HEADER(EVENT,               NONE,            NONE,  0x40),
	[0x80]          = HEADER(CTXT,                NONE,            NONE,  0x40),
	[0x81]          = HEADER(CTXT,                CONTEXT,         NONE,  0x40),
	[0x82]          = HEADER(ADDR_CTXT_L_32IS0,   ADDRESS_CONTEXT, 320,   0x40),
	[0x83]          = HEADER(ADDR_CTXT_L_32IS1,   ADDRESS_CONTEXT, 321,   0x40),
	[0x85]          = HEADER(ADDR_CTXT_L_64IS0,   ADDRESS_CONTEXT, 640,   0x40),
	[0x86]          = HEADER(ADDR_CTXT_L_64IS1,   ADDRESS_CONTEXT, 641,   0x40),
	[0x88]          = HEADER(TS_MARKER,           NONE,            NONE,  0x46),
	[0x90 ... 0x92] = HEADER(ADDR_MATCH,          ADDRESS,         MATCH, 0x40),
	[0x95]          = HEADER(ADDR_S_IS0,          ADDRESS,         S0,    0x40),
	[0x96]          = HEADER(ADDR_S_IS1,          ADDRESS,         S1,    0x40),
	[0x9a]          = HEADER(ADDR_L_32IS0,        ADDRESS,         320,   0x40),
	[0x9b]          = HEADER(ADDR_L_32IS1,        ADDRESS,         321,   0x40),
	[0x9d]          = HEADER(ADDR_L_64IS0,        ADDRESS,         640,   0x40),
	[0x9e]          = HEADER(ADDR_L_64IS1,        ADDRESS,         641,   0x40),
	[0xa0 ... 0xa2] = HEADER(Q,                   Q,               MATCH, 0x40), /* count */
	[0xa5]          = HEADER(Q,                   Q,               S0,    0x40),
	[0xa6]          = HEADER(Q,                   Q,               S1,    0x40),
	[0xaa]          = HEADER(Q,                   Q,               320,   0x40),
	[0xab]          = HEADER(Q,                   Q,               321,   0x40),
	[0xac]          = HEADER(Q,                   Q,               NONE,  0x40), /* count; address in the next packet */
	[0xaf]          = HEADER(Q,                   Q,               NONE,  0x40), /* no count either */
	[0xb0 ... 0xb2] = HEADER(SRC_ADDR_MATCH,      ADDRESS,         MATCH, 0x50),
	[0xb4]          = HEADER(SRC_ADDR_S_IS0,      ADDRESS,         S0,    0x50),
	[0xb5]          = HEADER(SRC_ADDR_S_IS1,      ADDRESS,         S1,    0x50),
	[0xb6]          = HEADER(SRC_ADDR_L_32IS0,    ADDRESS,         320,   0x50),
	[0xb7]          = HEADER(SRC_ADDR_L_32IS1,    ADDRESS,         321,   0x50),
	[0xb8]          = HEADER(SRC_ADDR_L_64IS0,    ADDRESS,         640,   0x50),
	[0xb9]          = HEADER(SRC_ADDR_L_64IS1,    ADDRESS,         641,   0x50),
	[0xc0 ... 0xd4] = HEADER(ATOM_F6,             ATOMS,           NONE,  0x40), /* 4 to 24 E */
	[0xd5 ... 0xd7] = HEADER(ATOM_F5,             ATOMS,           NONE,  0x40),
	[0xd8 ... 0xdb] = HEADER(ATOM_F2,             ATOMS,           NONE,  0x40),
	[0xdc ... 0xdf] = HEADER(ATOM_F4,             ATOMS,           NONE,  0x40),
	[0xe0 ... 0xf4] = HEADER(ATOM_F6,             ATOMS,           NONE,  0x40), /* 3 to 23 E, N */
	[0xf5]          = HEADER(ATOM_F5,             ATOMS,           NONE,  0x40),
	[0xf6 ... 0xf7] = HEADER(ATOM_F1,             ATOMS,           NONE,  0x40),
	[0xf8 ... 0xff] = HEADER(ATOM_F3,             ATOMS,           NONE,  0x40),
};
/* clang-format on */

struct etm_atoms etm_atoms_of(uint8_t h)
{
	static const uint8_t f4[4] = {0xe /* N E E E */, 0x0 /* N N N N */, 0xa /* N E N E */,
				      0x5 /* E N E N */};
	uint32_t nr;

	switch (etm_headers[h].kind) {
	case ETM_ATOM_F1:
		return (struct etm_atoms){h & 1u, 1};
	case ETM_ATOM_F2:
		return (struct etm_atoms){h & 3u, 2};
	case ETM_ATOM_F3:
		return (struct etm_atoms){h & 7u, 3};
	case ETM_ATOM_F4:
		return (struct etm_atoms){f4[h & 3], 4};
	case ETM_ATOM_F5: /* N N N N N; N E N E N; E N E N E; N E E E E */
		return (struct etm_atoms){h == 0xd5   ? 0x00u
					  : h == 0xd6 ? 0x0au
					  : h == 0xd7 ? 0x15u
						      : 0x1eu,
					  5};
	case ETM_ATOM_F6:
		nr = (h & 0x1fu) + 3;
		return h < 0xe0 ? (struct etm_atoms){(1u << (nr + 1)) - 1, (uint8_t)(nr + 1)}
				: (struct etm_atoms){(1u << nr) - 1, (uint8_t)(nr + 1)};
	default:
		return (struct etm_atoms){0, 0};
	}
}

struct etm_atoms etm_few_atoms(unsigned int code)
{
	static const struct etm_atoms atoms[4] = {
		{0, 0},
                {1, 1},
                {3, 2},
                {0, 1}
        };

	return atoms[code & 3];
}

static const char *const names[NR_ETM_KINDS] = {
	[ETM_BAD] = "I_BAD",
	[ETM_INCOMPLETE] = "I_INCOMPLETE",
	[ETM_NOT_SYNCED] = "I_NOT_SYNC",
	[ETM_UNSUPPORTED] = "I_UNSUPPORTED",
	[ETM_ASYNC] = "I_ASYNC",
	[ETM_DISCARD] = "I_DISCARD",
	[ETM_OVERFLOW] = "I_OVERFLOW",
	[ETM_TRACE_INFO] = "I_TRACE_INFO",
	[ETM_TIMESTAMP] = "I_TIMESTAMP",
	[ETM_TRACE_ON] = "I_TRACE_ON",
	[ETM_FUNC_RET] = "I_FUNC_RET",
	[ETM_EXCEPT] = "I_EXCEPT",
	[ETM_EXCEPT_RTN] = "I_EXCEPT_RTN",
	[ETM_PE_RESET] = "I_PE_RESET",
	[ETM_TRANS_FAIL] = "I_TRANS_FAIL",
	[ETM_ITE] = "I_ITE",
	[ETM_TRANS_ST] = "I_TRANS_ST",
	[ETM_TRANS_COMMIT] = "I_TRANS_COMMIT",
	[ETM_CCNT_F1] = "I_CCNT_F1",
	[ETM_CCNT_F2] = "I_CCNT_F2",
	[ETM_CCNT_F3] = "I_CCNT_F3",
	[ETM_COMMIT] = "I_COMMIT",
	[ETM_CANCEL_F1] = "I_CANCEL_F1",
	[ETM_CANCEL_F1_MISPRED] = "I_CANCEL_F1_MISPRED",
	[ETM_MISPREDICT] = "I_MISPREDICT",
	[ETM_CANCEL_F2] = "I_CANCEL_F2",
	[ETM_CANCEL_F3] = "I_CANCEL_F3",
	[ETM_IGNORE] = "I_IGNORE",
	[ETM_EVENT] = "I_EVENT",
	[ETM_CTXT] = "I_CTXT",
	[ETM_ADDR_CTXT_L_32IS0] = "I_ADDR_CTXT_L_32IS0",
	[ETM_ADDR_CTXT_L_32IS1] = "I_ADDR_CTXT_L_32IS1",
	[ETM_ADDR_CTXT_L_64IS0] = "I_ADDR_CTXT_L_64IS0",
	[ETM_ADDR_CTXT_L_64IS1] = "I_ADDR_CTXT_L_64IS1",
	[ETM_TS_MARKER] = "I_TS_MARKER",
	[ETM_ADDR_MATCH] = "I_ADDR_MATCH",
	[ETM_ADDR_S_IS0] = "I_ADDR_S_IS0",
	[ETM_ADDR_S_IS1] = "I_ADDR_S_IS1",
	[ETM_ADDR_L_32IS0] = "I_ADDR_L_32IS0",
	[ETM_ADDR_L_32IS1] = "I_ADDR_L_32IS1",
	[ETM_ADDR_L_64IS0] = "I_ADDR_L_64IS0",
	[ETM_ADDR_L_64IS1] = "I_ADDR_L_64IS1",
	[ETM_Q] = "I_Q",
	[ETM_SRC_ADDR_MATCH] = "I_SRC_ADDR_MATCH",
	[ETM_SRC_ADDR_S_IS0] = "I_SRC_ADDR_S_IS0",
	[ETM_SRC_ADDR_S_IS1] = "I_SRC_ADDR_S_IS1",
	[ETM_SRC_ADDR_L_32IS0] = "I_SRC_ADDR_L_32IS0",
	[ETM_SRC_ADDR_L_32IS1] = "I_SRC_ADDR_L_32IS1",
	[ETM_SRC_ADDR_L_64IS0] = "I_SRC_ADDR_L_64IS0",
	[ETM_SRC_ADDR_L_64IS1] = "I_SRC_ADDR_L_64IS1",
	[ETM_ATOM_F1] = "I_ATOM_F1",
	[ETM_ATOM_F2] = "I_ATOM_F2",
	[ETM_ATOM_F3] = "I_ATOM_F3",
	[ETM_ATOM_F4] = "I_ATOM_F4",
	[ETM_ATOM_F5] = "I_ATOM_F5",
	[ETM_ATOM_F6] = "I_ATOM_F6",
};

const char *etm_kind_name(enum etm_kind kind)
{
	return kind < NR_ETM_KINDS ? names[kind] : "?";
}
