/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "packet/pt/ipt_sync.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "unit/tap.h"

static const struct ipt_config config;

static void put_psb(struct buf *b, unsigned int pairs)
{
	for (unsigned int i = 0; i < pairs; i++)
		buf_add(b, "\x02\x82", 2);
}

static void put(struct buf *b, const char *bytes, size_t nr)
{
	buf_add(b, bytes, nr);
}

#define PUT(b, text) put(b, text, sizeof(text) - 1)
#define TSC          "\x19\x01\x02\x03\x04\x05\x06\x07"
#define CBR          "\x02\x03\x0a\x00"
#define MODE         "\x99\x01"
#define FUP          "\x5d\x34\x12\x40\x00"
#define PGE          "\x51\x34\x12\x40\x00"
#define PSBEND       "\x02\x23"

static bool find(const struct buf *b, size_t from, struct ipt_sync *ret)
{
	return ipt_sync_find(&config, bytes_of(b->data, b->nr), from, ret);
}

static void check_has(const char *after, size_t nr, uint8_t has, const char *name)
{
	clew_auto(buf_done) struct buf b = {0};
	struct ipt_sync s;

	PUT(&b, "before");
	put_psb(&b, 8);
	put(&b, after, nr);
	CHECK(find(&b, 0, &s) && s.at == 6 && s.has == has, "%s", name);
}

#define HAS(text, has, name) check_has(text, sizeof(text) - 1, has, name)

static void check_contents(void)
{
	enum { STATUS = IPT_SYNC_TSC | IPT_SYNC_CBR };

	HAS(TSC CBR PSBEND, STATUS, "time and ratio");
	HAS(TSC CBR MODE FUP PSBEND "\x06", STATUS | IPT_SYNC_MODE | IPT_SYNC_ON | IPT_SYNC_BRANCH,
	    "a place, and a branch after it");
	HAS(FUP PSBEND PGE, IPT_SYNC_BRANCH, "a place where tracing begins only then is none");
	HAS(PSBEND CBR "\x59\x01\x06", IPT_SYNC_BRANCH, "times and ratios before the branch");
	HAS(PSBEND "\x02\xf3\x06", 0, "after an overflow no branch counts");
	HAS("\x02\x43\x01\x00\x10\x00\x00\x00\x02\xc8\x01\x02\x03\x04\x05" PSBEND,
	    IPT_SYNC_PIP | IPT_SYNC_VMCS, "address space and guest");
}

static void check_places(void)
{
	clew_auto(buf_done) struct buf b = {0};
	struct ipt_sync s;

	put_psb(&b, 8);
	PUT(&b, TSC "\x02\xf3"); /* it ends in an overflow */
	put_psb(&b, 11);
	PUT(&b, PSBEND);
	CHECK(find(&b, 0, &s) && s.at == 16 + 8 + 2 + 6,
	      "a PSB+ that does not end is none; of a run, the last eight pairs are the PSB");
	CHECK(!find(&b, s.at + 1, &s), "there is no other one");
	CHECK(!find(&b, b.nr, &s) && !find(&b, b.nr + 1, &s), "nor at the end, or after it");
	b.nr--;
	CHECK(!find(&b, 0, &s), "one that is cut is none");
	CHECK(!ipt_sync_find(&config, bytes_of(NULL, 0), 0, &s), "nor is there one in nothing");
}

static void check_tsc(void)
{
	clew_auto(buf_done) struct buf b = {0};
	struct ipt_sync s;

	put_psb(&b, 8);
	PUT(&b, TSC PSBEND);
	CHECK(find(&b, 0, &s) && s.tsc == 0x07060504030201, "its TSC");
}

int main(void)
{
	check_contents();
	check_places();
	check_tsc();
	return tap_done();
}
