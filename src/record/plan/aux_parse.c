/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/plan/aux_parse.h"

#include <stdlib.h>

#include "record/plan/rec_parse.h"

enum {
	MAX_AREA = 1 << 30,
	DEFAULT_SAMPLE = 4096,
};

/* Plain bytes, or with a unit. */
static bool parse_bytes(const char *text, uint64_t *ret)
{
	char *end;

	if (rec_parse_size(text, ret))
		return true;
	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &end, 0);
	return !*end;
}

enum clew_err rec_parse_snapshot(struct rec_options *o, const char *text, struct rec_error *error)
{
	const char *at = text ? text : "";
	bool at_end = *at == 'e';
	uint64_t bytes = 0;

	at += at_end;
	if (*at && (!parse_bytes(at, &bytes) || !bytes || bytes > MAX_AREA))
		return rec_fail(
			error, CLEW_INVALID,
			"-S%s: expected e (one more snapshot at the end), the bytes to keep of "
			"each buffer (up to 1G), or both: -Se1M",
			text);
	o->snapshot.is_on = true;
	o->snapshot.at_end = at_end;
	o->snapshot.bytes = (size_t)bytes;
	return CLEW_OK;
}

enum clew_err rec_parse_aux_sample(struct rec_options *o, const char *text, struct rec_error *error)
{
	uint64_t bytes = DEFAULT_SAMPLE;

	if (text && (!parse_bytes(text, &bytes) || bytes < 8 || bytes > REC_MAX_AUX_SAMPLE))
		return rec_fail(
			error, CLEW_INVALID,
			"--aux-sample=%s: expected the bytes of trace in each sample, from 8 "
			"to %d",
			text, REC_MAX_AUX_SAMPLE);
	o->aux_sample_bytes = (uint32_t)bytes;
	return CLEW_OK;
}

enum clew_err rec_check_snapshot(const struct rec_options *o, const struct rec_event_list *events,
				 struct rec_error *error)
{
	if (!o->snapshot.is_on)
		return CLEW_OK;
	if (o->aux_sample_bytes)
		return rec_fail(
			error, CLEW_INVALID,
			"-S and --aux-sample exclude each other: the trace is in the snapshots, "
			"or in the samples");
	if (!rec_events_have_trace(events))
		return rec_fail(error, CLEW_INVALID,
				"-S takes snapshots of a hardware trace, and no -e names one; "
				"--overwrite with --switch-output keeps the newest samples");
	if (o->aux_bytes && o->snapshot.bytes > o->aux_bytes)
		return rec_fail(error, CLEW_INVALID,
				"-S: a snapshot of %zu bytes does not fit the buffer of %zu (-m)",
				o->snapshot.bytes, o->aux_bytes);
	return CLEW_OK;
}
