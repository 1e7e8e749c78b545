/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef IMAGE_DSO_PRIV_H
#define IMAGE_DSO_PRIV_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/intern.h"
#include "base/map_u64.h"
#include "elf/elf_file.h"
#include "elf/kallsyms_index.h"
#include "elf/sym_table.h"
#include "image/code_source.h"
#include "image/dso_jit.h"
#include "image/jit_code.h"
#include "os/file.h"
#include "os/file_time.h"

/** An ELF file opened for a dso. */
struct dso_file {
	struct os_map map;
	struct buf unpacked; /* instead of map: .gnu_debugdata */
	struct elf_file elf;
	char *path;
	struct dso_store *charged; /* dso_file_charge(); NULL: not */
	uint64_t charge_key, charged_bytes;
};

/** Kernel and module symbols of one kallsyms text or vmlinux, shared by the dsos that use it. */
struct kernel_syms {
	struct kernel_syms *next;
	char *path;
	struct dso_store *store;
	struct dso_file vmlinux; /* or empty */
	struct os_map map;       /* of kallsyms, or its text in heap memory */
	char *text;
	struct kallsyms_index index; /* of the kernel's own symbols, or empty */
	struct sym_table table;      /* all others */
	struct intern modules;       /* "[ext4]" */
	bool is_all_zero;
	bool has_ref;
	char *ref_name; /* what has_ref and ref_addr were asked for */
	uint64_t ref_addr;
};

/** What was read of a DSO_JIT before it mapped another jitdump file. */
struct dso_old {
	struct dso_old *next;
	struct jit_code *jit;
	struct sym_table table;
};

/** A jitdump file of a DSO_JIT. */
struct dso_dump {
	struct dso_dump *older;
	struct dso *file;
	struct dso_mapped when;
	bool is_inherited;
};

struct dso {
	struct dso_store *store;
	uint32_t id, pid, guest;
	enum dso_kind kind;
	uint8_t where;   /* enum dso_where */
	bool has_asked;  /* load was tried */
	bool has_missed; /* an address without a symbol since then */
	bool has_asked_code;
	char *path, *short_name;
	struct dso_build_id build_id; /* the recording's */
	uint64_t mnt_ns_ino, maj, min, ino, ino_generation;
	uint64_t load_start, ref_addr;
	char *ref_name;
	const char *why, *note, *why_no_code, *unchecked;
	const char *link_name; /* .gnu_debuglink of the file itself; NULL: none */
	uint32_t link_crc;
	struct dso_code_image *code_image; /* dso_code_priv.h; NULL: never asked */

	struct dso_file files[2]; /* symbols, and the file that was mapped (may be one) */
	struct dso_file *syms, *runtime;
	struct dso_file code; /* dso_read(): what was mapped */
	struct sym_table table;
	const struct kernel_syms *kernel; /* instead of table */
	uint64_t kernel_delta;            /* add to a recorded address to get one of .kernel */
	uint16_t module;                  /* in .kernel */
	const char *symbol_file;
	struct map_u64 found; /* number of a symbol -> struct dso_sym * */
	struct dso_lines *lines;
	struct jit_code *jit; /* of DSO_JIT; NULL: no jitdump file says anything */
	struct dso_old *old;
	struct dso_dump *dumps; /* that it mapped, newest first */
	struct dso_life life;
	struct dso_kept_map kept; /* bytes 0: none */
	uint32_t program, nr_dumps;
	uint64_t touched_at; /* number of dso_touch(), 0: never */
	bool is_own_dump;    /* of a jitdump file: no record names a process but its first */
	/* Of several names of one file the first has what was read of it: dso_owner(). */
	struct dso *same; /* NULL: it is itself the owner, or was never asked */
	bool has_asked_same;
	bool is_checked; /* file_id was read */
	struct os_file_identity file;
	struct dso_build_id file_id;
};

struct dso_store {
	struct dso_store_opts opts;
	struct arena text;
	struct {
		VEC(struct dso *);
	} dsos;
	struct map_u64 by_key; /* hash, or the next free number after it -> id */
	struct kernel_syms *kernels;
	struct dso_kcore *kcore; /* dso_kcore.h; NULL: never asked */
	struct buf scratch;
	uint64_t own_mnt_ns;
	struct dso_clock clock; /* zeroed: unknown */
	struct map_u64 by_file; /* hash of a file's identity, or the next free number -> owner */
	struct map_u64 by_build_id; /* hash of a recorded build id -> a dso that was read by it */
	struct {
		bool is_known, is_same;
	} release, host;             /* of the recording, and those here */
	uint64_t charged;            /* to the budget, by dso_store_charge() */
	struct budget_account named; /* what is known of files before they are asked for anything */
	struct map_u64 mapped;       /* the same -> how many mappings of it are charged as one */
	uint32_t nr_tries;           /* of dso_file_open_mapped() */
	uint64_t nr_touched;
};

/* dso_paths.c: where the symbols of a user file may lie, in the order in which they are tried. */
enum dso_place {
	DSO_AT_DEBUGLINK,        /* as GDB's manual has it: DIR/NAME of the debug link, */
	DSO_AT_DEBUGLINK_SUBDIR, /* DIR/.debug/NAME, */
	DSO_AT_DEBUGLINK_DEBUG,  /* /usr/lib/debug/DIR/NAME */
	DSO_AT_CACHE,
	DSO_AT_CACHE_DEBUG,
	DSO_AT_DEBUG_PATH,       /* /usr/lib/debug/PATH.debug */
	DSO_AT_DEBUG_PATH_PLAIN, /* /usr/lib/debug/PATH */
	DSO_AT_BUILD_ID,
	DSO_AT_ITSELF,
	DSO_AT_SUBDIR,            /* DIR/.debug/NAME */
	DSO_AT_DEBUG_PATH_NO_USR, /* /usr/lib/debug/PATH, PATH without its /usr */
	DSO_NR_PLACES
};

/**
 * @p root: "" or another mount namespace's root, before every path but the cache's.
 * @return false: no such place for this dso.
 */
bool dso_place_path(struct dso *d, enum dso_place place, const char *root,
		    const struct dso_build_id *id, struct buf *ret);

/** Take the name and checksum of the debug link of @p f, the file itself, for DSO_AT_DEBUGLINK. */
void dso_take_debuglink(struct dso *d, const struct dso_file *f);

/** "PREFIX/.build-id/ab/cdef" + @p tail. */
bool dso_build_id_path(const char *prefix, const struct dso_build_id *id, const char *tail,
		       struct buf *ret);

/* dso_where.c: where the process that mapped the file sees its path. */
enum dso_where {
	DSO_WHERE_UNKNOWN, /* not asked yet */
	DSO_HERE,
	DSO_ELSEWHERE,        /* in another mount namespace, or below another root directory */
	DSO_ELSEWHERE_CLOSED, /* the same, and without openat2 no path there is safe to open */
	DSO_ELSEWHERE_ENDED   /* of such a process that ended, or may not be looked into */
};
enum dso_where dso_where(struct dso *d);

/** DSO_ELSEWHERE: "/proc/PID/root", else "". os/path.h opens what lies below. */
void dso_proc_root(struct dso *d, struct buf *ret);

/** What a process that still runs has mapped, also where it was deleted or lies elsewhere: proven
 * by build id, else by inode. @return false: none. */
bool dso_file_open_mapped(struct dso_file *ret, struct dso *d);

/** Is @p f, mapped, the very file of the recording, by device and inode? False also where these are
 * unknown. */
bool dso_is_mapped_file(const struct dso *d, const struct dso_file *f);

/* dso_identity.c: is a file that has no build id in the recording the one that was recorded? */
enum dso_identity {
	DSO_IS_RECORDED,
	DSO_IS_UNCHECKED, /* nothing compares */
	DSO_IS_OTHER,
};
/** The file at @p path, where the dso has it (DSO_AT_ITSELF), by device, inode and times.
 * @p ret_why: why not proven, static text. */
enum dso_identity dso_identify(struct dso *d, const char *path, const char **ret_why);

/** Does the recording itself say that the file was deleted? */
bool dso_is_deleted(const struct dso *d);

/** Who else than we and root may have written what names the code of this process: its user. */
uint32_t dso_jit_owner(const struct dso *d);

/* dso_file.c */
enum clew_err dso_file_open(struct dso_file *f, const char *path);
/** The same, with bytes that libdw may change: it unpacks compressed sections in place. */
enum clew_err dso_file_open_private(struct dso_file *f, const char *path);
void dso_file_done(struct dso_file *f);
/**
 * Before it is kept: charge its mapping to the store's budget, once however often the file is
 * mapped, and let what is unpacked of it be charged, too. dso_file_done() gives it back.
 * @return false: there is no room, which was noted.
 */
bool dso_file_charge(struct dso_store *s, struct dso_file *f);
bool dso_same_build_id(const struct dso_build_id *a, const struct dso_build_id *b);
/** The file's build id; size 0: none. */
struct dso_build_id dso_file_build_id(const struct dso_file *f);

/* dso_table.c */
char *dso_keep(struct dso_store *s, const char *text);

/** Charge what lives as long as the store. @return false: there is no room, which was noted. */
bool dso_store_charge(struct dso_store *s, uint64_t bytes, const char *what, const char *path);
/** Take that back: it does not live. */
void dso_store_uncharge(struct dso_store *s, uint64_t bytes);

/** dso_why_no_symbols() of what the budget has no room for. */
extern const char dso_over_budget[];
/** Symbols of the file @p path were omitted. @return the reason. */
const char *dso_refuse_symbols(struct dso_store *s, const char *path);

/** The name to show: demangled where that is wanted, in the scratch of the store. */
const char *dso_shown_name(struct dso *d, const char *name);

/** Close d->table; counts as no symbols when it is empty. */
bool dso_finish_table(struct dso *d, enum sym_fill fill, const char *from);

/* The loaders, by kind. Each fills table or kernel, or sets why. */
void dso_load_user(struct dso *d);
void dso_load_kernel(struct dso *d);
void dso_load_jit(struct dso *d);
void dso_load_vdso(struct dso *d);
void kernel_syms_free(struct kernel_syms *k);

/* dso_owner.c */
/** The dso of the same file that has what was read of it: mostly @p d itself. */
struct dso *dso_owner(struct dso *d);
/** @p d has symbols: other names of its build id may have them. */
void dso_owner_loaded(struct dso *d);

/** The file that was mapped, for dso_read() and lines; NULL: not found. */
const struct elf_file *dso_code_file(struct dso *d);

/* dso_jitdump.c */
/** Fill d->jit from all of its jitdump files. @return NULL, or why there is nothing. */
const char *dso_load_jitdumps(struct dso *d);
void dso_jit_done(struct dso *d);
void dso_old_done(struct dso *d);
/** The bytes of the function at @p rel. */
bool dso_jit_find_code(struct dso *d, uint64_t rel, struct code_region *ret, uint16_t *ret_machine);
/** @p sym: the one at @p rel. */
size_t dso_jit_find_lines(struct dso *d, uint64_t rel, const struct dso_sym *sym,
			  struct dso_line *ret, size_t max);

/* dso_lines.c */
struct dso_lines;
void dso_lines_free(struct dso_lines *l);

#endif
