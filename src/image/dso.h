/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_H
#define IMAGE_DSO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <clew/err.h>
#include <clew/time.h>

/*
 * Binaries by (path, build id): found on this machine when first asked for a symbol, loaded once,
 * then only read.
 *
 * An address inside a dso ("rel") is a file offset for everything mapped from an ELF file (address
 * - map start + pgoff), the run-time address for the kernel, and for JIT code what dso_jit.h says.
 */
struct budget;
struct dso;
struct dso_store;

enum dso_kind {
	DSO_USER,   /* an ELF file */
	DSO_KERNEL, /* vmlinux or kallsyms; rel = run-time address */
	DSO_MODULE, /* kernel module; rel = run-time address */
	DSO_VDSO,
	DSO_JIT,    /* anonymous memory: /tmp/perf-PID.map; rel = run-time address */
	DSO_NO_CODE /* [heap], [stack], device memory, ...: never has symbols */
};

/** The recording's clock, for times that others wrote: jitdump files. */
struct dso_clock {
	bool is_monotonic; /* CLOCK_MONOTONIC */
	/** A counter's ticks as the recording's time. NULL: cannot be converted. */
	bool (*of_tsc)(const void *ctx, uint64_t ticks, struct clew_perf_ns *ret);
	const void *ctx;
};

struct dso_build_id {
	uint8_t size; /* 0: unknown */
	uint8_t bytes[20];
};

/** All texts borrowed for the store's life; NULL: the default. */
struct dso_store_opts {
	const char *symfs;       /* prefix for every user file */
	const char *vmlinux;     /* file for DSO_KERNEL */
	const char *kallsyms;    /* file instead of /proc/kallsyms */
	const char *buildid_dir; /* default ~/.debug, given by the caller: the library reads no
				    environment */
	const char *debug_dir;   /* default /usr/lib/debug */
	const char *kcore_dir;   /* kcore, kallsyms and modules as they were when it was recorded */
	const char *running_dir; /* tests: has kcore, kallsyms, modules and notes of the running
				    kernel, in place of /proc and /sys */
	/* Of virtual machines: DIR/PID is the root of each, the files are of any one. */
	const char *guest_mount, *guest_vmlinux, *guest_kallsyms, *guest_modules;
	bool no_demangle; /* keep linker names */
	bool demangle_kernel;
	bool no_host_kernel;   /* never take symbols from the running kernel */
	bool force;            /* read perf-PID.map and jitdump files of other users */
	struct budget *budget; /* of what is unpacked, parsed and mapped; NULL: no limit */
	bool no_proc_root;    /* do not look through /proc/PID/root (another machine's recording) */
	bool is_live;         /* the recording is made now, of the running kernel */
	uint64_t recorded_ns; /* when the recording ended, since 1970: files that changed later are
				 not the recorded ones; 0: unknown */
};

struct dso_key {
	enum dso_kind kind;
	const char *path;                    /* as in the MMAP record */
	const struct dso_build_id *build_id; /* NULL or size 0: unknown */
	uint32_t pid;   /* owner of the mapping: for perf-PID.map and /proc/PID/root; 0: none */
	uint32_t guest; /* of this virtual machine, by the pid of its process, and never one of the
			   host's files; 0: the host's */
	uint64_t mnt_ns_ino;                    /* mount namespace of that process, 0: unknown */
	uint64_t maj, min, ino, ino_generation; /* MMAP2's file identity, 0: unknown */
	uint32_t program;            /* DSO_JIT: which one of those that the process ran, from 0 */
	uint64_t load_start;         /* DSO_MODULE, DSO_KERNEL: run-time start of the mapping */
	const char *kernel_ref_name; /* DSO_KERNEL: name and run-time address of the relocation
					reference symbol, */
	uint64_t kernel_ref_addr;    /* e.g. "_text"; 0: none */
};

struct dso_sym {
	uint64_t start, end;   /* rel; end exclusive */
	const char *name;      /* demangled unless asked not to; lives as long as the store */
	const char *link_name; /* as in the symbol table */
};

/** Is it one of a comma list of names, each as sym_name_is() takes it (elf/sym_name.h)? */
bool dso_sym_is_in_list(const struct dso_sym *s, const char *list);
/** Is it @p name? */
bool dso_sym_is(const struct dso_sym *s, const char *name);

/** One step of inlined code or source, innermost first. Texts live as long as the store. */
struct dso_line {
	const char *function; /* demangled; NULL for the outermost, non-inlined one */
	const char *file;     /* as DWARF names it, directory included; NULL: unknown */
	uint32_t line, column;
	const char *link_name; /* DWARF's linkage name, else its name, of every entry; NULL:
				  unknown */
	const char *decl_file; /* where that function is declared; NULL: unknown */
	uint32_t decl_line;    /* 0: unknown */
	uint32_t discriminator, copies; /* as dwarf_line's */
};

/** Of inlining at one address; dso_find_lines() gives no more. */
enum { DSO_MAX_LEVELS = 64 };

struct dso_store *dso_store_new(const struct dso_store_opts *opts);
void dso_store_free(struct dso_store *s);

/** Was something said of where symbols of guests' kernels are? */
bool dso_store_knows_guest_kernels(const struct dso_store *s);

/** What the header says of the machine it was recorded on; NULL: unknown. Before symbols of the
 * kernel are asked for; a second call counts where the first one had NULL. */
void dso_store_set_machine(struct dso_store *s, const char *os_release, const char *host);

/** Before anything is asked of code made at run time. @p clock: copied; ctx is borrowed. */
void dso_store_set_clock(struct dso_store *s, const struct dso_clock *clock);

/** The one dso for this key; never loads anything. NULL when memory is short. */
struct dso *dso_store_get(struct dso_store *s, const struct dso_key *key);

/** Iterate over all dsos in order of creation. NULL: no such index. */
struct dso *dso_store_at(struct dso_store *s, size_t index);

uint32_t dso_id(const struct dso *d); /* dense, from 0 */
/** What to show of @p rel: of JIT code the run-time address, else the same. */
uint64_t dso_address(const struct dso *d, uint64_t rel);
const char *dso_path(const struct dso *d);
/** perf's short name: the last path component, or the bracketed name. */
const char *dso_short_name(const struct dso *d);
enum dso_kind dso_kind(const struct dso *d);
/** DSO_KERNEL, DSO_MODULE: run-time start of the mapping; 0: unknown. */
uint64_t dso_load_start(const struct dso *d);
const struct dso_build_id *dso_build_id(const struct dso *d);

/**
 * The symbol that covers @p rel, or NULL. The first call for a dso finds and reads its symbols
 * (milliseconds); later ones are a binary search. The result lives as long as the store. Thread:
 * one at a time per store; the results may be read from any thread.
 */
const struct dso_sym *dso_find_sym(struct dso *d, uint64_t rel);

/** It is in use, for dso_store_trim(). */
void dso_touch(const struct dso *d);

/**
 * Unload what was read of user files, least recently touched first, until the budget that the store
 * was made with has at most @p keep_bytes in use; what is asked for again is read again. So is
 * perf-PID.map where a symbol was missing, and what there was no room for. All dso_sym, dso_line
 * and code bytes of the store end here.
 * @return how many files.
 */
size_t dso_store_trim(struct dso_store *s, uint64_t keep_bytes);

/** Bytes that only dso_store_free() frees. */
uint64_t dso_store_kept_bytes(const struct dso_store *s);

/**
 * Source lines for @p rel: [0] is the innermost inlined function, the last entry the containing
 * function itself.
 * @return number of entries, 0: no line information. Loads DWARF on first use.
 */
size_t dso_find_lines(struct dso *d, uint64_t rel, struct dso_line *ret, size_t max);

/**
 * Why a dso without symbols has none: static text such as "file not found", "build id differs from
 * the recording's", "kptr_restrict hides kernel addresses", "stripped"; NULL when it has symbols or
 * was never asked.
 */
const char *dso_why_no_symbols(const struct dso *d);

/**
 * A doubt about the symbols that a dso does have: static text, such as "the recording has no kernel
 * build id: the running kernel's symbols may not fit" or "stripped: only exported functions have
 * names"; NULL: none.
 */
const char *dso_note(const struct dso *d);

/**
 * Why nothing proves that the file with the symbols is the one that was recorded: static text such
 * as "neither a build id nor an inode was recorded"; NULL: it is proven, or there are no symbols.
 */
const char *dso_unchecked(const struct dso *d);

/** Where the symbols came from (path on this machine), NULL: nowhere. */
const char *dso_symbol_file(const struct dso *d);

/** The whole ELF file that was mapped, or what equals it: its bytes live as long as the store.
 * NULL: not found, or not a user binary. Opens it on first use. */
const uint8_t *dso_code_bytes(struct dso *d, size_t *ret_size);

/**
 * The address that @p rel has in the file as it was linked, which is what tools that look at the
 * file alone speak of: by its program headers; of the kernel by vmlinux; of a module in .text,
 * which begins at 0 there. Opens the file on first use, as the functions below. @return false: no
 * such file, or nothing of it is loaded there.
 */
bool dso_link_address(const struct dso *d, uint64_t rel, uint64_t *ret);

/** Is there a file, for dso_link_address()? */
bool dso_has_linked(const struct dso *d);

/** The linked address of the file's first loaded segment; 0: no file. */
uint64_t dso_link_base(const struct dso *d);

/** Where the linked address @p address of code lies in the file, by its executable segments.
 * @return false: no such file, or it has no code there; so is it of a module, which has none. */
bool dso_file_offset(const struct dso *d, uint64_t address, uint64_t *ret);

/** The recording's build id, or where it has none the file's; size 0: none. */
struct dso_build_id dso_file_id(const struct dso *d);

/** Code bytes at @p rel, borrowed from the loaded file. @return bytes available, 0: none. */
size_t dso_read(struct dso *d, uint64_t rel, void *ret, size_t size);

#endif
