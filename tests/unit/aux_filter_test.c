/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "perfdata/aux_filter.h"

#include "unit/tap.h"

static struct aux_filters parse(const char *text)
{
	struct aux_filters f = {0};

	if (!aux_filters_parse(&f, text, strlen(text)))
		exit(1);
	return f;
}

int main(void)
{
	struct aux_filters f = parse("filter 0x1000/0x40@/bin/a,filter 4096/16 stop 0x2000@/bin/a");

	CHECK(f.ranges.nr == 2 && !f.is_damaged, "ranges are kept, places to stop are not");
	CHECK(aux_filters_have(&f, "/bin/a", 0x1000) && aux_filters_have(&f, "/bin/a", 0x103f) &&
		      !aux_filters_have(&f, "/bin/a", 0x1040),
	      "a range of a file is in its offsets");
	CHECK(!aux_filters_have(&f, "/bin/b", 0x1000), "another file's offsets are not traced");
	CHECK(aux_filters_have(&f, NULL, 4096) && !aux_filters_have(&f, NULL, 4112),
	      "without a file it is the kernel's");
	aux_filters_done(&f);
	f = parse("stop 0x2000/0x10@/bin/a");
	CHECK(!f.is_damaged && aux_filters_have(&f, "/bin/b", 1), "without ranges all is traced");
	aux_filters_done(&f);
	f = parse("");
	CHECK(!f.is_damaged && !f.ranges.nr, "no text is no filter");
	aux_filters_done(&f);
	f = parse("filter 0x10/0x20@/a, filter main/3");
	CHECK(f.is_damaged && f.ranges.nr == 1, "what is not understood is said");
	aux_filters_done(&f);
	f = parse("filter 0xfffffffffffffff0/0x10");
	CHECK(aux_filters_have(&f, NULL, UINT64_MAX) && !aux_filters_have(&f, NULL, 0),
	      "a range up to the end of memory");
	aux_filters_done(&f);
	return tap_done();
}
