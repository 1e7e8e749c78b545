/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "make/etm_snapshot_make.h"

#include <stdio.h>
#include <sys/stat.h>

static bool write_file(const char *dir, const char *name, const void *data, size_t size)
{
	char path[4096];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f)
		return false;
	ok = fwrite(data, 1, size, f) == size;
	return !fclose(f) && ok;
}

static bool write_text(const char *dir, const char *name, const char *text)
{
	return write_file(dir, name, text, strlen(text));
}

static bool write_buf(const char *dir, const char *name, struct buf *b)
{
	bool ok = !b->is_failed && write_file(dir, name, b->data, b->nr);

	buf_done(b);
	return ok;
}

static bool write_unit(const char *dir, const struct etm_config *c)
{
	const struct etm_regs *r = &c->regs;
	struct buf b = {0};

	buf_printf(&b, "[device]\nname=UNIT\nclass=trace_source\ntype=%s\n[regs]\n",
		   c->is_ete ? "ETE" : "ETM4");
	buf_printf(&b, "TRCCONFIGR=0x%x\nTRCTRACEIDR=0x%x\nTRCIDR0=0x%x\nTRCIDR1=0x%x\n",
		   r->configr, r->traceidr, r->idr0, r->idr1);
	buf_printf(&b, "TRCIDR2=0x%x\nTRCIDR8=0x%x\nTRCDEVARCH=0x%x\n", r->idr2, r->idr8,
		   r->devarch);
	return write_buf(dir, "unit.ini", &b);
}

static bool write_core(const char *dir, const struct etm_snapshot_code *code, size_t nr)
{
	struct buf b = {0};
	char name[32];
	bool ok = true;

	buf_str(&b, "[device]\nname=cpu_0\nclass=core\ntype=ARM-AA64\n[regs]\nPC(size:64)=0\n");
	for (size_t i = 0; i < nr; i++) {
		snprintf(name, sizeof(name), "code%zu.bin", i);
		buf_printf(&b, "[dump%zu]\nfile=%s\naddress=0x%llx\n", i, name,
			   (unsigned long long)code[i].address);
		ok = ok && write_file(dir, name, code[i].bytes, code[i].size);
	}
	return write_buf(dir, "cpu.ini", &b) && ok;
}

bool etm_snapshot_make(const char *dir, const struct etm_config *c, const struct buf *trace,
		       const struct etm_snapshot_code *code, size_t nr_code)
{
	return !mkdir(dir, 0777) && write_file(dir, "trace.bin", trace->data, trace->nr) &&
	       write_unit(dir, c) && write_core(dir, code, nr_code) &&
	       write_text(dir, "snapshot.ini",
			  "[snapshot]\nversion=1.0\n[device_list]\ndevice0=cpu.ini\n"
			  "device1=unit.ini\n[trace]\nmetadata=trace.ini\n") &&
	       write_text(dir, "trace.ini",
			  "[trace_buffers]\nbuffers=buffer0\n[buffer0]\nname=all\nfile=trace.bin\n"
			  "format=source_data\n[source_buffers]\nUNIT=all\n[core_trace_sources]\n"
			  "cpu_0=UNIT\n");
}
