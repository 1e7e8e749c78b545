/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef BASE_BUF_SINK_H
#define BASE_BUF_SINK_H

#include "base/buf.h"
#include "base/sink.h"

/** Appends to @p b, which is borrowed. CLEW_NO_MEMORY. */
struct clew_sink buf_sink(struct buf *b);

#endif
