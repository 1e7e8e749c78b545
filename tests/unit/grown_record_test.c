/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "record/open/grown_record.h"

#include <string.h>

#include "perfdata/perf_record.h"
#include "unit/tap.h"

enum { ID = 16, MAX = 128 };

/* A record as Linux leaves it: @p extra bytes of an older one after what was written. */
static uint16_t make(uint8_t *to, uint32_t type, const char *name, uint16_t extra)
{
	size_t nr = 24;
	struct perf_event_header h = {.type = type};

	memset(to, 0xee, MAX);
	memset(to, 0x11, 24);
	if (name) {
		memset(to + 24, 0, (strlen(name) + 8) & ~(size_t)7);
		memcpy(to + 24, name, strlen(name));
		nr += (strlen(name) + 8) & ~(size_t)7;
	}
	memset(to + nr, 0x22, ID);
	h.size = (uint16_t)(nr + ID + extra);
	memcpy(to, &h, sizeof(h));
	return h.size;
}

static void check_mended(uint32_t type, const char *name, const char *what)
{
	for (uint16_t extra = 0; extra <= 48; extra += 8) {
		uint8_t r[MAX], plain[MAX];
		uint16_t size = make(r, type, name, extra), written = make(plain, type, name, 0);
		bool ok = grown_record_is(r, ID) == (extra > 0);

		grown_record_mend(r, ID);
		ok &= !memcmp(r + 8, plain + 8, written - ID - 8u);
		ok &= !memcmp(r + size - ID, plain + written - ID, ID);
		for (size_t i = written - (size_t)ID; i < size - (size_t)ID; i++)
			ok &= !r[i];
		ok &= extra > MAX - 100 || r[size] == 0xee;
		CHECK(ok && !r[6] == !(size & 0xff), "%s, %d bytes more", what, extra);
	}
}

static void test_others(void)
{
	uint8_t r[MAX], before[MAX];

	make(r, PERF_RECORD_COMM, "name", 40);
	CHECK(!grown_record_is(r, ID), "a record of another kind is left alone");
	make(r, PERF_RECORD_KSYMBOL, "name", 40);
	memset(r + 24, 'x', MAX - 24);
	memcpy(before, r, MAX);
	grown_record_mend(r, ID);
	CHECK(!grown_record_is(r, ID) && !memcmp(r, before, MAX), "so is a name without an end");
	make(r, PERF_RECORD_BPF_EVENT, NULL, 0);
	memcpy(r + 6, &(uint16_t){32}, 2);
	memcpy(before, r, MAX);
	grown_record_mend(r, ID);
	CHECK(!grown_record_is(r, ID) && !memcmp(r, before, MAX), "and one that is too short");
}

int main(void)
{
	check_mended(PERF_RECORD_KSYMBOL, "bpf_prog_1", "KSYMBOL");
	check_mended(PERF_RECORD_KSYMBOL, "", "KSYMBOL without a name");
	check_mended(PERF_RECORD_BPF_EVENT, NULL, "BPF_EVENT");
	test_others();
	return tap_done();
}
