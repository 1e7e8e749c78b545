/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef PACKET_PT_IPT_WRITE_H
#define PACKET_PT_IPT_WRITE_H

#include "base/buf.h"
#include "packet/pt/ipt_packet.h"

/*
 * Packets -> Intel PT bytes: what ipt_packets_next() reads, by the same tables.
 */

/** The shortest form in which @p ip can follow @p last, as processors send it. */
enum ipt_ip_form ipt_ip_shortest(uint64_t ip, uint64_t last);

/**
 * Append @p k as bytes. Of its fields kind, those of the kind, ip_form and has_fup count; of PTW
 * bytes (6 or 10), of TNT whether it has more branches than a short one holds, of BIP bytes (5 or
 * 9). @p last_ip: compression, taken on. Of kinds that are no packets, and MODE: nothing.
 */
void ipt_write(struct buf *to, const struct ipt_packet *k, uint64_t *last_ip);

#endif
