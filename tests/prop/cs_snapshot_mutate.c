/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <unistd.h>

#include "prop/mutate.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/trace_decode.h"
#include "unit/tap.h"

/* A snapshot of every kind of line and a trace in frames; each of its files damaged in turn. It is
 * opened or refused, decoded, only counted, and closed: no more is required. */

static char dir[] = "/tmp/cs_snapshot_mutate.XXXXXX";

struct file {
	const char *name, *text;
	size_t nr; /* of bytes, where text has NULs */
};

static const char frames[] = "\x21\0\0\0\0\0\0\0\0\0\0\0\0\x80\x21\x00" /* ID 0x10: async, */
			     "\x00\x01\x00\x04\x82\x00\x00\x01\x00\x31\xf6\xf7\x34\x20\x02\xa0"
			     "\x21\xf7\xf6\x06\x03\x1d\x95\x05\xf7\x03\x20\x7a\x70\x70\x34\x45"
			     "\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f\xff\xff\xff\x7f"
			     "\x25\0\0\0\0\0\0\0\0\0\0\0\0\x80\x25\x00"
			     "\x00\x01\x00\x04\x82\x00\x00\x01\x00\x31\xf6\xf7\xc4\x34\x02\x40";

static const char code[] = "\x00\x04\x00\x91\x02\x00\x00\x14\x1f\x20\x03\xd5\xc0\x03\x5f\xd6";

static const struct file files[] = {
	{"snapshot.ini",
	 "[snapshot]\nversion=1.0 ; x\n[device_list]\na=cpu.ini\nb=etm.ini\nc=stm.ini\n"
	 "[clusters]\nCluster 0=cpu_0\n[trace]\nmetadata=trace.ini\n",				0		 },
	{"cpu.ini",
	 "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n[regs]\nPC(size:64)=0x10000\n"
	 "[dump1]\nfile=\"code.bin\"\naddress=0x10000\nlength=0x8\nspace=EL1N\n"
	 "[dump.2]\nfile=code.bin\naddress=0x10008\noffset=8\n[dump3]\nfile=code.bin\naddress=0x8\n",
	 0													      },
	{"etm.ini",
	 "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM4.2\n[regs]\nTRCCONFIGR(0x004)=0x000000C9\n"
	 "TRCTRACEIDR=0x10\nTRCIDR0=0x28000EA1\nTRCIDR1=0x4100F424\nTRCIDR2=0x488\nTRCIDR8=2\n",      0		 },
	{"stm.ini",      "[device]\nname=STM_0\ntype=STM\n[regs]\nSTMTCSR(0x3A0)=0x00120005\n",       0                 },
	{"trace.ini",
	 "[trace_buffers]\nbuffers=b0, b1,b2\n[b0]\nname=ETB_0\nfile=trace.bin\nformat=coresight\n"
	 "[b1]\nfile=trace.bin\nformat=source_data\n[b2]\nfile=trace.bin\nformat=dstream_coresight\n"
	 "[source_buffers]\nETM_0=ETB_0,b1\nSTM_0=ETB_0\n[core_trace_sources]\ncpu_0=ETM_0\n",        0		 },
	{"trace.bin",    frames,								      sizeof(frames) - 1},
	{"code.bin",     code,									sizeof(code) - 1  },
};

enum { NR_FILES = sizeof(files) / sizeof(*files) };

static bool write_file(const char *name, struct bytes bytes)
{
	char path[128];
	size_t nr = bytes_left(&bytes);
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	ok = f && (!nr || fwrite(bytes.pos, 1, nr, f) == nr);
	return f && !fclose(f) && ok;
}

static struct bytes bytes_of_file(const struct file *f)
{
	return bytes_of(f->text, f->nr ? f->nr : strlen(f->text));
}

static enum clew_err take_batch(void *ctx, size_t unit, const struct flow_batch *b)
{
	(void)unit;
	*(uint64_t *)ctx += b->nr;
	return CLEW_OK;
}

static enum clew_err warning(void *ctx, const char *what, uint64_t number, uint64_t offset)
{
	(void)ctx, (void)number, (void)offset;
	return what ? CLEW_OK : CLEW_INVALID;
}

static bool is_fine(struct trace_input *t, bool only_counts)
{
	uint64_t nr = 0;
	const struct trace_decode_opts opts = {
		.nr_threads = 1,
		.batch = only_counts ? NULL : take_batch,
		.ctx = &nr,
		.listener = {warning, &nr}
        };

	return trace_decode(t, &opts, NULL) == CLEW_OK;
}

static bool use(void *ctx, struct bytes copy, uint64_t nr)
{
	const struct file *f = ctx;
	struct trace_input *t = NULL;
	struct clew_diag diag = {0};
	enum clew_err err;
	bool ok;

	if (!write_file(f->name, copy))
		return false;
	err = cs_snapshot_open(&t, dir, &diag);
	if (err)
		return diag.code == err && diag.what;
	cs_snapshot_set_piece(t, nr % 3 ? 7 : 0);
	ok = is_fine(t, false) && is_fine(t, true);
	for (size_t i = 0; cs_snapshot_note(t, i); i++)
		ok &= cs_snapshot_note(t, i)[0] != '\0';
	trace_input_free(t);
	return ok;
}

static void remove_all(void)
{
	char path[128];

	for (size_t i = 0; i < NR_FILES; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i].name);
		unlink(path);
	}
	rmdir(dir);
}

int main(void)
{
	bool ok = mkdtemp(dir);

	for (size_t i = 0; i < NR_FILES; i++)
		ok = ok && write_file(files[i].name, bytes_of_file(&files[i]));
	if (!ok)
		SKIP_ALL("cannot write below /tmp");
	for (size_t i = 0; i < NR_FILES; i++) {
		struct file f = files[i];
		struct mutate m = {.use = use, .ctx = &f};

		mutate_bytes(&m, f.name, bytes_of_file(&f));
		write_file(f.name, bytes_of_file(&f));
	}
	remove_all();
	mutate_check_memory();
	return mutate_done();
}
