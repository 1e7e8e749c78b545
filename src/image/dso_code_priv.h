/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_CODE_PRIV_H
#define IMAGE_DSO_CODE_PRIV_H

#include "elf/elf_sym.h"
#include "image/dso_code.h"
#include "image/dso_priv.h"

/** A section of a module as loaded. */
struct dso_code_section {
	uint64_t start, size; /* from the module's first byte */
	uint8_t *bytes;       /* NULL: not in the file */
	uint16_t index;
};

/** What dso_find_code() made for a kernel or module; zeroed until it is asked. */
struct dso_code_image {
	bool is_usable;
	bool is_kcore;   /* module: its code is in the copy of kcore */
	bool is_running; /* neither file nor copy: that of the running kernel, if it is the same */
	const char *why_not_running; /* with is_running and has_delta: it is another; NULL: it is */
	bool has_delta;              /* the same was asked */
	bool is_bare_asked;          /* a user file that is no ELF file */
	uint64_t delta; /* kernel, is_running: add to a run-time address to get the image's */
	struct {        /* module: its sections of code, as loaded */
		VEC(struct dso_code_section);
	} sections;
	struct {
		VEC(uint64_t); /* places of branches with an unknown target, sorted */
	} holes;
};

bool dso_find_kernel_code(struct dso *d, uint64_t rel, struct code_region *ret);
/** In the segments of the open image or copy of kcore. */
bool dso_find_segment_code(struct dso *d, uint64_t rel, struct code_region *ret);
/** In /proc/kcore. */
bool dso_find_running_code(struct dso *d, uint64_t rel, struct code_region *ret);
/** The copy of kcore beside the recording. @return false: there is none. */
bool dso_kcore_copy(const struct dso *d, struct buf *ret);
bool dso_find_module_code(struct dso *d, uint64_t rel, struct code_region *ret);
/** The section with that index in the module's file; NULL: none, or not loaded. */
struct dso_code_section *dso_code_section(const struct dso_code_image *c, uint32_t index);
/** Fill d->table from the module's file. @return false: no such file, or it has no names. */
bool dso_load_module_file(struct dso *d);
void dso_code_image_free(struct dso_code_image *c);

/* dso_vmlinux.c: vmlinux where distributions put it, of the recording's build id. */
bool dso_find_vmlinux(struct dso *d, struct buf *ret);
/** A guest's: DIR/PID/vmlinux of --guestmount, if it is there. */
bool dso_guest_vmlinux(const struct dso *d, struct buf *ret);

#endif
