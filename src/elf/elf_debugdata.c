/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "elf/elf_debugdata.h"

#include <lzma.h>

#include "base/err.h"

enum { STEP_BYTES = 256 * 1024, MEMORY_MAX = 128 * 1024 * 1024 };

/** Unpacks step by step, each taken from the budget first; what a step left over goes back. */
static enum clew_err unpack(lzma_stream *x, const struct elf_file *f, struct buf *ret,
			    struct clew_diag *diag)
{
	lzma_ret state = LZMA_OK;

	while (state == LZMA_OK) {
		if (ret->nr >= ELF_DEBUGDATA_MAX_BYTES)
			return clew_fail(diag, CLEW_LIMIT, 0, "debug data unpacks to over 64 MiB");
		if (!budget_take(f->budget, STEP_BYTES))
			return clew_fail(diag, CLEW_LIMIT, 0, "over the memory budget");
		if (!buf_reserve(ret, STEP_BYTES)) {
			budget_give(f->budget, STEP_BYTES);
			return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
		}
		x->next_out = (uint8_t *)ret->data + ret->nr;
		x->avail_out = STEP_BYTES;
		state = lzma_code(x, LZMA_FINISH);
		ret->nr += STEP_BYTES - x->avail_out;
		budget_give(f->budget, x->avail_out);
	}
	if (state == LZMA_STREAM_END)
		return CLEW_OK;
	if (state == LZMA_MEMLIMIT_ERROR)
		return clew_fail(diag, CLEW_LIMIT, 0, "it needs more memory to be unpacked");
	return clew_fail(diag, state == LZMA_MEM_ERROR ? CLEW_NO_MEMORY : CLEW_BAD_FILE,
			 x->total_in, "damaged xz stream");
}

/** The size of what is unpacked stands at its very end: it is found out on the way. */
static void note_refused(const struct elf_file *f, size_t nr)
{
	budget_refuse(f->budget, nr, "the packed symbols (.gnu_debugdata) of", f->name);
}

enum clew_err elf_debugdata_unpack(const struct elf_file *f, struct buf *ret,
				   struct clew_diag *diag)
{
	lzma_stream x = LZMA_STREAM_INIT;
	uint64_t left = budget_left(f->budget);
	struct elf_section s;
	struct bytes b;
	enum clew_err err;

	if (!elf_file_section(f, ".gnu_debugdata", &s) || !elf_file_bytes(f, &s, &b))
		return clew_fail(diag, CLEW_NOT_FOUND, 0, "no .gnu_debugdata");
	if (lzma_stream_decoder(&x, left < MEMORY_MAX ? left : MEMORY_MAX, 0) != LZMA_OK)
		return clew_fail(diag, CLEW_NO_MEMORY, 0, "out of memory");
	x.next_in = b.pos;
	x.avail_in = bytes_left(&b);
	err = unpack(&x, f, ret, diag);
	lzma_end(&x);
	if (err == CLEW_LIMIT)
		note_refused(f, ret->nr);
	if (err) {
		budget_give(f->budget, ret->nr);
		buf_done(ret);
	}
	return err;
}
