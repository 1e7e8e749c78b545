/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Event spellings; after a first byte of 1 or 2, the bytes of a PMU's format file or of BTF. */
#include <string.h>

#include "os/perf/pmu.h"
#include "record/plan/btf.h"
#include "record/plan/event_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_TEXT = 4096 };

/* What holds of every list: groups lead backwards, names are there. */
static void check_list(const struct rec_event_list *l, const char *text)
{
	for (size_t i = 0; i < l->events.nr; i++) {
		const struct rec_event *e = &l->events.data[i];

		if (e->leader > i || l->events.data[e->leader].leader != e->leader || !e->name ||
		    strlen(e->name) > strlen(text) + 64)
			__builtin_trap();
	}
}

static void parse_events(const char *text)
{
	struct rec_event_list l = {.tracefs = "/nonexistent"};
	struct rec_error error;

	/* Names of files are not for a fuzzer to open. */
	if (strstr(text, "robe:"))
		return;
	if (rec_events_parse(&l, text, &error)) {
		if (error.pos > strlen(text) || !*error.text || l.events.nr)
			__builtin_trap();
	}
	check_list(&l, text);
	rec_events_done(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[MAX_TEXT];
	struct os_pmu_format format = {0};
	size_t n = size < sizeof(text) - 1 ? size : sizeof(text) - 1;

	if (size && *data == 2) {
		btf_has_function(bytes_of(data + 1, size - 1), "wanted");
		return 0;
	}
	memcpy(text, data, n);
	text[n] = '\0';
	if (*text == 1)
		os_pmu_format_parse(text + 1, &format);
	else
		parse_events(text);
	return 0;
}
