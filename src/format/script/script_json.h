/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef FORMAT_SCRIPT_SCRIPT_JSON_H
#define FORMAT_SCRIPT_SCRIPT_JSON_H

#include "format/script/script_text.h"

/*
 * Events as JSON, one object per line. Unknown members are absent, with a reason if there is one.
 * Spec: docs/spec/script-json.md.
 */
struct script_json;

/** As script_text_new(). Of @p opts, the fields and the form of times are not looked at. */
struct script_json *script_json_new(const struct script_text_opts *opts,
				    const struct clew_sink *sink);
void script_json_free(struct script_json *j);

void script_json_set_tracepoints(struct script_json *j, struct tracepoints *tp);

/** For ana_consumer.batch. Errors as script_text_batch(), but for CLEW_INVALID. */
enum clew_err script_json_batch(void *json, const struct ana_batch *b);

enum clew_err script_json_flush(struct script_json *j);

#endif
