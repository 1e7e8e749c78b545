/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef TRACE_SNAPSHOT_CS_SNAPSHOT_IMPL_H
#define TRACE_SNAPSHOT_CS_SNAPSHOT_IMPL_H

#include "analyze/analyze.h"
#include "base/attributes.h"
#include "base/map_u64.h"
#include "image/code_map.h"
#include "os/file.h"
#include "packet/coresight/cs_frame.h"
#include "trace/snapshot/cs_snapshot.h"
#include "trace/snapshot/cs_snapshot_ini.h"

/* Shared by the cs_snapshot_*.c files. */

enum { CS_NO_DEVICE = UINT32_MAX, CS_NR_SPACES = 16 };

enum cs_reg {
	CS_TRCCONFIGR,
	CS_TRCTRACEIDR,
	CS_TRCIDR0,
	CS_TRCIDR1,
	CS_TRCIDR2,
	CS_TRCIDR8,
	CS_TRCDEVARCH,
	CS_ETMTRACEIDR, /* ETMv3, PTM */
	CS_STMTCSR,
	CS_ITMTCR,
	NR_CS_REGS
};

/** A device's .ini file: a core, a trace unit, or something else. */
struct cs_device {
	const char *name, *class_name, *type; /* never NULL */
	uint32_t regs[NR_CS_REGS];
	uint32_t has; /* bit per enum cs_reg */
	uint32_t cpu; /* of a core */
};

/** A file that was mapped. */
struct cs_file {
	const char *name; /* as in the .ini */
	struct os_map map;
	bool is_known;   /* the map is that of another name of the file */
	struct dso *dso; /* of an ELF file, once it was asked for */
	bool is_missing; /* and that was said */
};

struct cs_dump {
	uint32_t device, file;
	uint16_t seen_by;
	uint64_t address, offset, size;
};

enum cs_buffer_format { CS_BUF_FRAMES, CS_BUF_RAW, CS_BUF_DSTREAM, CS_BUF_TPIU, CS_BUF_TPIU_HSYNC };

struct cs_buffer {
	const char *name, *section;
	uint32_t file;
	uint8_t format;                 /* enum cs_buffer_format */
	size_t first_unit, nr_units;    /* of trace.units */
	uint16_t unit_of_id[CS_NR_IDS]; /* unit - first_unit + 1; 0: none */
};

/** The code that the units of one core see: its own dumps first, then the others'. */
struct cs_code {
	uint32_t device; /* all ones: of a unit without a core */
	struct code_map *map;
	const struct code_source *source;
};

struct cs_snapshot {
	struct trace_input trace; /* first: what callers hold */
	struct arena arena;
	const char *dir;
	size_t piece_bytes;
	struct budget *budget; /* NULL: no limit */
	uint64_t charged;
	struct map_u64 inis, maps; /* hash of a file's identity -> 1: a device's .ini that was read;
				      number of the file that was mapped */
	uint32_t nr_inis_again;
	struct {
		VEC(struct cs_device);
	} devices;
	struct {
		VEC(struct cs_file);
	} files;
	struct {
		VEC(struct cs_dump);
	} dumps;
	uint32_t nr_dumps_listed; /* with those of missing files */
	struct {
		VEC(struct cs_buffer);
	} buffers;
	struct {
		VEC(struct trace_unit);
	} units;
	struct {
		VEC(struct cs_code);
	} codes;
	struct {
		VEC(const char *);
	} notes;
	bool has_one_code;                    /* no two cores have other bytes at one place */
	bool has_etm;                         /* an ETMv4 or ETE is among the units */
	struct map_u64 locs[CS_NR_SPACES];    /* address -> struct ana_loc */
	struct map_u64 callers[CS_NR_SPACES]; /* the same of where calls return to */
	uint32_t nr_locs;
	struct dso_store *binaries; /* NULL: not asked for yet */
};

/** Add a line to cs_snapshot_note(). @return false: out of memory. */
bool cs_snapshot_say(struct cs_snapshot *s, const char *format, ...) CLEW_PRINTF(2, 3);

/** Map a file of the snapshot's directory, once. *ret: UINT32_MAX: cannot be read, which was said.
 * @return false: out of memory. */
bool cs_snapshot_file(struct cs_snapshot *s, const char *name, const char *of, uint32_t *ret);

/** Is it a device's .ini that was asked for before, by whatever name? */
bool cs_snapshot_ini_is_known(struct cs_snapshot *s, const char *name);

/** An .ini file of the snapshot, parsed. @p ret is zeroed where there is none. */
enum clew_err cs_snapshot_read_ini(struct cs_snapshot *s, const char *name, struct cs_ini *ret,
				   struct clew_diag *diag);

/** The same; what is wrong with it is noted. @return false: out of memory. */
bool cs_snapshot_ini_file(struct cs_snapshot *s, const char *name, struct cs_ini *ret,
			  bool *ret_is_there);

/** A device's file: name, class, type, registers, memory dumps. @return false: out of memory. */
bool cs_snapshot_device(struct cs_snapshot *s, const char *file);

/** The same of what is in @p ini, by the name @p file. */
bool cs_snapshot_device_of(struct cs_snapshot *s, const char *file, const struct cs_ini *ini);

/** What a snapshot's files would say of @p raw. @return CLEW_OK, CLEW_NO_MEMORY, CLEW_INVALID. */
enum clew_err cs_raw_inis(struct cs_snapshot *s, const struct cs_raw *raw, struct cs_ini *device,
			  struct cs_ini *trace, struct clew_diag *diag);

/** Index of the device @p name; CS_NO_DEVICE: none. */
uint32_t cs_snapshot_find_device(const struct cs_snapshot *s, const char *name);

/** Is it one that is asked for? */
bool cs_reg_is_known(const char *name);

/** Is it a trace buffer's format? */
bool cs_format_is_known(const char *name);

bool cs_device_is_core(const struct cs_device *d);

/** Say which CPU each core is, when all devices are known. */
bool cs_snapshot_number_cores(struct cs_snapshot *s);

/** Buffers and the units of each, from the trace metadata. */
bool cs_snapshot_buffers(struct cs_snapshot *s, const struct cs_ini *ini);

/** The code for units of @p core. NULL: out of memory. */
const struct code_source *cs_snapshot_code(struct cs_snapshot *s, uint32_t core);

/** Say in which binary @p loc is, where the dump there is one. @return false: out of memory. */
bool cs_snapshot_resolve(struct cs_snapshot *s, uint32_t space, struct ana_loc *loc);

/* cs_snapshot_run.c, for trace_input_ops: */

enum clew_err cs_snapshot_run(struct trace_input *t, const struct trace_sink *sink,
			      struct clew_diag *diag);
struct trace_steps *cs_snapshot_steps_new(struct trace_input *t, const struct trace_sink *sink);
enum clew_err cs_snapshot_step(struct trace_steps *s, size_t stream);
void cs_snapshot_steps_free(struct trace_steps *s);

#endif
