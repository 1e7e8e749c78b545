/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_ETM_ETM_HEADERS_H
#define PACKET_ETM_ETM_HEADERS_H

#include "packet/etm/etm_packet.h"

/* What each header byte is: one table for the decoder, the dumper and the test encoder. */

enum etm_payload {
	ETM_PAYLOAD_RESERVED,
	ETM_PAYLOAD_NONE,
	ETM_PAYLOAD_EXTENSION,
	ETM_PAYLOAD_TRACE_INFO,
	ETM_PAYLOAD_TIMESTAMP,
	ETM_PAYLOAD_EXCEPTION,
	ETM_PAYLOAD_ITE,
	ETM_PAYLOAD_COUNT_1,
	ETM_PAYLOAD_COUNT_2,
	ETM_PAYLOAD_COUNT_3,
	ETM_PAYLOAD_COMMIT,
	ETM_PAYLOAD_CANCEL,
	ETM_PAYLOAD_CONTEXT,
	ETM_PAYLOAD_ADDRESS,
	ETM_PAYLOAD_ADDRESS_CONTEXT,
	ETM_PAYLOAD_Q,
	ETM_PAYLOAD_ATOMS,
};

/** How an address is sent. IS0: whole words (A64, A32); IS1: halfwords (T32). */
enum etm_form {
	ETM_FORM_NONE,
	ETM_FORM_S0,    /* short, IS0: its low bits, above them those of the address before */
	ETM_FORM_S1,    /* short, IS1 */
	ETM_FORM_320,   /* low 32 bits, IS0 */
	ETM_FORM_321,   /* low 32 bits, IS1 */
	ETM_FORM_640,   /* 64 bits, IS0 */
	ETM_FORM_641,   /* 64 bits, IS1 */
	ETM_FORM_MATCH, /* equal to one of the last three */
};

struct etm_header {
	uint8_t kind, payload, form;
	uint8_t since; /* version that has it first */
};

extern const struct etm_header etm_headers[256];

/** The atoms of a header 0xc0-0xff; else none. */
struct etm_atoms etm_atoms_of(uint8_t header);
/** The atoms before a mispredict: 0 none, 1 E, 2 EE, 3 N. */
struct etm_atoms etm_few_atoms(unsigned int code);

#endif
