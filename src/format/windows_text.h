/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_WINDOWS_TEXT_H
#define FORMAT_WINDOWS_TEXT_H

#include "analyze/ana_windows.h"
#include "format/json_put.h"

/* Snapshots of hardware trace: what each window holds, and the time that all of them cover. @p x:
 * closed. Nothing where there are none. */

void windows_text(struct buf *out, const struct ana_windows *x);
/** As a member of an open object: "snapshots". */
void windows_json(struct json_put *j, const struct ana_windows *x);
/** As a separate line, an object; in text as above. @p x NULL: none. */
void windows_put(struct buf *out, const struct ana_windows *x, bool is_json);

#endif
