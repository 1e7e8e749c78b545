/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_ETM_PACKET_TEXT_H
#define FORMAT_TRACE_ETM_PACKET_TEXT_H

#include "format/json_put.h"
#include "packet/etm/etm_packet.h"

/*
 * An ETM or ETE packet in words: its fields, named as the specification names them. The name of the
 * packet itself is etm_kind_name().
 */

/** "EL1 NS AArch64 CONTEXTIDR=0x4353": no newline, nothing where there is no field. */
void etm_packet_text(struct buf *out, const struct etm_config *c, const struct etm_packet *p);

/** Members of an open object: "address": "0x..", "atoms": "EEN", ... Numbers that may need 64 bits
 * are strings in hex. docs/spec/dump-json.md */
void etm_packet_json(struct json_put *j, const struct etm_config *c, const struct etm_packet *p);

/** TYPE of an exception packet: "IRQ"; NULL: reserved or the implementation's. */
const char *etm_exception_name(const struct etm_config *c, uint32_t type);

/** "ETMv4.2", "ETE 1.0". */
void etm_version_text(struct buf *out, const struct etm_config *c);

#endif
