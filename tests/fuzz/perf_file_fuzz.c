/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stddef.h>

#include "format/header/evlist_text.h"
#include "format/header/header_text.h"
#include "prop/perfdata_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Headers as text and as JSON, of a file after its records were read. */
static void print_header(struct bytes file)
{
	const struct perf_input in = {.data = file.pos, .size = bytes_left(&file)};
	struct header_facts h = {.is_full = true, .has_records = true};
	struct perf_record r;
	struct buf out = {0};

	if (perf_file_open(&h.file, &in, &h.diag) != CLEW_OK)
		return;
	do
		h.end = perf_file_next(h.file, &r, &h.diag);
	while (h.end == CLEW_OK);
	header_text(&out, &h);
	header_text_records(&out, &h);
	header_json(&out, &h);
	buf_done(&out);
	perf_file_free(h.file);
}

static void print_events(struct bytes file)
{
	struct clew_session *s;
	struct buf out = {0};

	if (clew_session_open_memory(&s, file.pos, bytes_left(&file), NULL, NULL) != CLEW_OK)
		return;
	if (clew_session_read_events(s, NULL) != CLEW_NO_MEMORY) {
		evlist_text(&out, s, &(struct evlist_text_opts){.is_verbose = true});
		evlist_text(&out, s, &(struct evlist_text_opts){.has_groups = true});
		evlist_json(&out, s);
	}
	buf_done(&out);
	clew_session_free(s);
}

/* The first byte chooses: 0x80 as a stream, else mapped. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_walk w;

	if (!size)
		return 0;
	perf_walk(bytes_of(data + 1, size - 1), data[0] & 0x80 ? 1u + (data[0] & 0x7f) : 0, &w);
	if (w.is_over_budget)
		__builtin_trap();
	print_header(bytes_of(data + 1, size - 1));
	print_events(bytes_of(data + 1, size - 1));
	return 0;
}
