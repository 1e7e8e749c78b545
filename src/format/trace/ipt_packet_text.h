/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_TRACE_IPT_PACKET_TEXT_H
#define FORMAT_TRACE_IPT_PACKET_TEXT_H

#include "format/json_put.h"
#include "packet/pt/ipt_packet.h"

/*
 * An Intel PT packet in words. The name of the packet itself is ipt_kind_name().
 */

/** "0x401000", "TNTT": no newline, nothing where there is no field. */
void ipt_packet_text(struct buf *out, const struct ipt_packet *p);

/** Members of an open object: "address": "0x..", "branches": "TNT", ... Numbers that may need 64
 * bits are strings in hex. docs/spec/dump-json.md */
void ipt_packet_json(struct json_put *j, const struct ipt_packet *p);

#endif
