/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "trace/spe_decoder.h"

/*
 * The data source packet by core, and perf's mem_data_src.
 * Spec: Linux 7.3 tools/perf/util/arm-spe.c, uapi/linux/perf_event.h (PERF_MEM_).
 */

#define OP(x)     ((uint64_t)(x))
#define LVL(x)    ((uint64_t)(x) << 5)
#define SNOOP(x)  ((uint64_t)(x) << 19)
#define TLB(x)    ((uint64_t)(x) << 26)
#define NUM(x)    ((uint64_t)(x) << 33)
#define REMOTE    ((uint64_t)1 << 37)
#define SNOOPX(x) ((uint64_t)(x) << 38)

enum { OP_NA = 1, OP_LOAD = 2, OP_STORE = 4 };
enum {
	LVL_NA = 1,
	HIT = 2,
	MISS = 4,
	LVL_L1 = 8,
	LVL_LFB = 0x10,
	LVL_L2 = 0x20,
	LVL_L3 = 0x40,
	LVL_LOC_RAM = 0x80,
	LVL_REM_RAM1 = 0x100,
	LVL_REM_CCE1 = 0x400,
	LVL_REM_CCE2 = 0x800,
	LVL_IO = 0x1000,
};
enum {
	NUM_L1 = 1,
	NUM_L2 = 2,
	NUM_L3 = 3,
	NUM_IO = 0xa,
	NUM_ANY_CACHE = 0xb,
	NUM_LFB = 0xc,
	NUM_RAM = 0xd,
	NUM_NA = 0xf
};
enum { SNOOP_NA = 1, SNOOP_NONE = 2, SNOOP_HIT = 4, SNOOP_HITM = 0x10, SNOOP_BITS = 0x1f };
enum { SNOOPX_PEER = 2 };
enum { TLB_HIT = 2, TLB_MISS = 4, TLB_WALKER = 0x20 };

#define AT(level, num) (LVL(level) | NUM(num))
#define NOWHERE        AT(LVL_NA, NUM_NA)

struct source {
	uint8_t raw;
	uint64_t data_src; /* without operation and TLB; without snoop: by the events */
	const char *name;
};

/* clang-format off */
static const struct source common[] = {
	{0x00, AT(LVL_L1 | HIT, NUM_L1) | SNOOP(SNOOP_NONE),      "L1D"          },
	{0x08, AT(LVL_L2 | HIT, NUM_L2) | SNOOP(SNOOP_NONE),      "L2D"          },
	{0x09, AT(LVL_L2 | HIT, NUM_L2) | SNOOPX(SNOOPX_PEER),    "peer core"    },
	{0x0a, AT(LVL_L3 | HIT, NUM_L3) | SNOOPX(SNOOPX_PEER),    "local cluster"},
	{0x0b, AT(LVL_L3 | HIT, NUM_L3) | SNOOP(SNOOP_HIT),       "system cache" },
	{0x0c, AT(LVL_L3 | HIT, NUM_L3) | SNOOPX(SNOOPX_PEER),    "peer cluster" },
	{0x0d, NOWHERE | REMOTE | SNOOPX(SNOOPX_PEER),            "remote"       },
	{0x0e, AT(LVL_LOC_RAM | HIT, NUM_RAM) | SNOOP(SNOOP_NONE), "DRAM"         },
};

static const struct source ampereone[] = {
	{0x00, AT(LVL_L2 | HIT, NUM_L2) | SNOOPX(SNOOPX_PEER),    "local chip cache or device"},
	{0x03, AT(LVL_L3 | HIT, NUM_L3) | SNOOP(SNOOP_HIT),       "system level cache"        },
	{0x05, NOWHERE | REMOTE | SNOOPX(SNOOPX_PEER),            "remote chip cache"         },
	{0x07, AT(LVL_LOC_RAM | HIT, NUM_RAM) | SNOOP(SNOOP_NONE), "DRAM"                      },
	{0x08, AT(LVL_L1 | HIT, NUM_L1) | SNOOP(SNOOP_NONE),      "L1D"                       },
	{0x09, AT(LVL_L2 | HIT, NUM_L2) | SNOOP(SNOOP_NONE),      "L2D"                       },
};

#define PEER   SNOOPX(SNOOPX_PEER)
#define PEER_M (SNOOPX(SNOOPX_PEER) | SNOOP(SNOOP_HITM))

static const struct source hip12[] = {
	{0x00, AT(LVL_L2 | HIT, NUM_L2) | PEER,                        "peer CPU"               },
	{0x01, AT(LVL_L2 | HIT, NUM_L2) | PEER_M,                      "peer CPU, modified"     },
	{0x02, AT(LVL_L3 | HIT, NUM_L3) | SNOOP(SNOOP_HIT),            "L3"                     },
	{0x03, AT(LVL_L3 | HIT, NUM_L3) | SNOOP(SNOOP_HITM),           "L3, modified"           },
	{0x04, AT(LVL_REM_CCE1 | HIT, NUM_L3) | PEER,                  "peer cluster"           },
	{0x05, AT(LVL_REM_CCE1 | HIT, NUM_L3) | PEER_M,                "peer cluster, modified" },
	{0x06, AT(LVL_REM_CCE2, NUM_ANY_CACHE) | REMOTE | PEER,        "remote socket"          },
	{0x07, AT(LVL_REM_CCE2, NUM_ANY_CACHE) | REMOTE | PEER_M,      "remote socket, modified"},
	{0x08, AT(LVL_LOC_RAM | HIT, NUM_RAM) | SNOOP(SNOOP_NONE),     "local memory"           },
	{0x09, AT(LVL_REM_RAM1 | HIT, NUM_RAM) | REMOTE | SNOOP(SNOOP_NONE), "remote memory"    },
	{0x0d, AT(LVL_IO | HIT, NUM_IO) | SNOOP(SNOOP_NONE),           "non-cacheable device"   },
	{0x10, AT(LVL_L2 | HIT, NUM_L2) | SNOOP(SNOOP_NONE),           "L2"                     },
	{0x11, AT(LVL_L2 | HIT, NUM_L2) | SNOOP(SNOOP_HITM),           "L2, modified"           },
	{0x12, AT(LVL_L1 | HIT, NUM_L1) | SNOOP(SNOOP_NONE),           "L1"                     },
};

#define SOURCES(table) table, sizeof(table) / sizeof(*(table))

/* Variant and revision do not matter. */
static const struct core {
	uint8_t implementer;
	uint16_t part;
	const struct source *sources;
	size_t nr;
} cores[] = {
	{0x41, 0xd0c, SOURCES(common)},    /* Neoverse N1 */
	{0x41, 0xd40, SOURCES(common)},    /* Neoverse V1 */
	{0x41, 0xd44, SOURCES(common)},    /* Cortex-X1 */
	{0x41, 0xd49, SOURCES(common)},    /* Neoverse N2 */
	{0x41, 0xd4b, SOURCES(common)},    /* Cortex-A78C */
	{0x41, 0xd4c, SOURCES(common)},    /* Cortex-X1C */
	{0x41, 0xd4d, SOURCES(common)},    /* Cortex-A715 */
	{0x41, 0xd4e, SOURCES(common)},    /* Cortex-X3 */
	{0x41, 0xd4f, SOURCES(common)},    /* Neoverse V2 */
	{0x41, 0xd81, SOURCES(common)},    /* Cortex-A720 */
	{0x41, 0xd82, SOURCES(common)},    /* Cortex-X4 */
	{0x41, 0xd84, SOURCES(common)},    /* Neoverse V3 */
	{0x41, 0xd85, SOURCES(common)},    /* Cortex-X925 */
	{0x41, 0xd87, SOURCES(common)},    /* Cortex-A725 */
	{0x41, 0xd89, SOURCES(common)},    /* Cortex-A720AE */
	{0x4e, 0x010, SOURCES(common)},    /* Olympus */
	{0xc0, 0xac4, SOURCES(ampereone)}, /* AmpereOne A */
	{0x48, 0xd06, SOURCES(hip12)},     /* HIP12 */
};
/* clang-format on */

static const struct core *core_of(const struct spe_config *c)
{
	for (size_t i = 0; c->has_midr && i < sizeof(cores) / sizeof(*cores); i++) {
		if (cores[i].implementer == c->midr >> 24 &&
		    cores[i].part == (c->midr >> 4 & 0xfff))
			return &cores[i];
	}
	return NULL;
}

bool spe_names_sources(const struct spe_config *c)
{
	return core_of(c);
}

static const struct source *source_of(const struct core *core, const struct ana_op *op)
{
	for (size_t i = 0; core && op->has & ANA_OP_HAS_SOURCE && i < core->nr; i++) {
		if (core->sources[i].raw == op->source)
			return &core->sources[i];
	}
	return NULL;
}

static uint64_t hit_or_miss(uint64_t events, uint64_t miss, unsigned int level, unsigned int num)
{
	return AT(level | (events & miss ? MISS : HIT), num);
}

/** The nearest that had it; else the farthest that was asked. */
static uint64_t level_of_load(uint64_t e)
{
	uint64_t hit = e & ~(e >> 1); /* an access without the miss, its next bit */

	if (hit & ANA_OP_L1D_ACCESS)
		return AT(LVL_L1 | HIT, NUM_L1);
	if (e & ANA_OP_LFB)
		return AT(LVL_LFB | HIT, NUM_LFB);
	if (hit & ANA_OP_L2D_ACCESS)
		return AT(LVL_L2 | HIT, NUM_L2);
	if (hit & ANA_OP_LLC_ACCESS)
		return AT(LVL_L3 | HIT, NUM_L3);
	if (e & ANA_OP_LLC_MISS)
		return AT(LVL_L3 | MISS, NUM_L3);
	if (e & ANA_OP_L2D_MISS)
		return AT(LVL_L2 | MISS, NUM_L2);
	return e & ANA_OP_L1D_MISS ? AT(LVL_L1 | MISS, NUM_L1) : NOWHERE;
}

static uint64_t level_of_store(uint64_t e)
{
	if (e & (ANA_OP_LLC_ACCESS | ANA_OP_LLC_MISS))
		return hit_or_miss(e, ANA_OP_LLC_MISS, LVL_L3, NUM_L3);
	if (e & (ANA_OP_L2D_ACCESS | ANA_OP_L2D_MISS))
		return hit_or_miss(e, ANA_OP_L2D_MISS, LVL_L2, NUM_L2);
	if (e & (ANA_OP_L1D_ACCESS | ANA_OP_L1D_MISS))
		return hit_or_miss(e, ANA_OP_L1D_MISS, LVL_L1, NUM_L1);
	return NOWHERE;
}

static uint64_t snoop_of(const struct spe_config *c, uint64_t events)
{
	if (events & ANA_OP_SNOOPED)
		return SNOOP(events & ANA_OP_HITM ? SNOOP_HITM : SNOOP_HIT);
	return SNOOP(c->event_filter & ANA_OP_SNOOPED ? SNOOP_NONE : SNOOP_NA);
}

static uint64_t tlb_of(uint64_t events)
{
	if (!(events & (ANA_OP_TLB_ACCESS | ANA_OP_TLB_WALK)))
		return 0;
	return TLB(TLB_WALKER | (events & ANA_OP_TLB_WALK ? TLB_MISS : TLB_HIT));
}

/** Known cores have no source of a store. AmpereOne numbers that it does not define: none either.
 */
static bool is_store_unknown(const struct core *core, const struct source *source,
			     const struct ana_op *op)
{
	bool is_undefined = op->has & ANA_OP_HAS_SOURCE && !source;

	return core && !(core->sources == ampereone && is_undefined);
}

static uint64_t place_of(const struct spe_config *c, const struct core *core,
			 const struct source *source, const struct ana_op *op)
{
	uint64_t place;

	if (op->kind == ANA_OP_STORE)
		/* Cores with a table name the source of loads only. */
		return is_store_unknown(core, source, op)
			     ? NOWHERE | SNOOP(SNOOP_NA)
			     : level_of_store(op->events) | snoop_of(c, op->events);
	if (source)
		place = source->data_src;
	else
		place = op->kind == ANA_OP_LOAD ? level_of_load(op->events) : NOWHERE;
	return place & SNOOP(SNOOP_BITS) ? place : place | snoop_of(c, op->events);
}

/** Data processing on vectors, which perf counts as memory operations. */
static bool is_vector(const struct ana_op *op)
{
	enum { ASE = 4 };

	return (op->op & 0x89) == 0x08 || (op->op & 0x89) == 0x88 ||
	       ((op->op & 0xf8) == 0 && op->op & ASE);
}

/** PERF_MEM_OP_; 0: no memory operation. */
static unsigned int mem_op_of(const struct ana_op *op)
{
	if (!(op->has & ANA_OP_HAS_KIND))
		return 0;
	if (op->kind == ANA_OP_LOAD || op->kind == ANA_OP_STORE)
		return op->kind == ANA_OP_LOAD ? OP_LOAD : OP_STORE;
	return op->kind == ANA_OP_OTHER && is_vector(op) ? OP_NA : 0;
}

void spe_set_data_src(const struct spe_config *c, struct ana_op *op)
{
	const struct core *core = core_of(c);
	const struct source *source = source_of(core, op);
	unsigned int mem_op = mem_op_of(op);

	op->source_name = source ? source->name : NULL;
	op->data_src = 0;
	if (!mem_op)
		return;
	op->data_src = OP(mem_op) | place_of(c, core, source, op) | tlb_of(op->events) |
		       (op->events & ANA_OP_REMOTE ? REMOTE : 0);
}
