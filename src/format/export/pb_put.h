/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_EXPORT_PB_PUT_H
#define FORMAT_EXPORT_PB_PUT_H

#include "base/buf.h"

/* Protocol buffers, writing alone. Spec: protobuf.dev, "Encoding". Fields may be written in any
 * order, and those of a message in several parts. */

void pb_varint(struct buf *out, uint64_t v);
/** A number; nothing where it is 0, which is the default. */
void pb_num(struct buf *out, uint32_t field, uint64_t v);
/** Also where it is 0. */
void pb_num0(struct buf *out, uint32_t field, uint64_t v);
/** Text, bytes, packed numbers or a message. */
void pb_data(struct buf *out, uint32_t field, const void *data, size_t size);
void pb_text(struct buf *out, uint32_t field, const char *s);
/** What @p b holds, as a field; then it is empty. Its failure is @p out's. */
void pb_move(struct buf *out, uint32_t field, struct buf *b);

#endif
