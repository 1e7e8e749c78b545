/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/data_src.h"
#include "trace/spe_decoder.h"
#include "unit/tap.h"

/* mem_data_src of each data source and event. The values are perf 7.3's. */

enum { NEOVERSE_N1 = 0x410fd0c0, AMPEREONE = 0xc00fac40, HIP12 = 0x480fd060 };

static const struct spe_config
	n1 = {.midr = NEOVERSE_N1, .event_filter = ANA_OP_SNOOPED, .has_midr = true},
	ampere = {.midr = AMPEREONE, .event_filter = ANA_OP_SNOOPED, .has_midr = true},
	hip = {.midr = HIP12, .event_filter = ANA_OP_SNOOPED, .has_midr = true},
	unknown = {.midr = 0x410fd030, .event_filter = ANA_OP_SNOOPED, .has_midr = true},
	nothing = {0};

/* Parts of Arm that share one table. */
static const uint16_t arm[] = {0xd0c, 0xd40, 0xd44, 0xd49, 0xd4b, 0xd4c, 0xd4d, 0xd4e,
			       0xd4f, 0xd81, 0xd82, 0xd84, 0xd85, 0xd87, 0xd89};
enum { NR_ARM = sizeof(arm) / sizeof(*arm) };

struct row {
	const struct spe_config *core;
	int source; /* -1: not reported */
	uint64_t want;
	const char *name, *text;
};

static struct ana_op load(uint64_t events)
{
	return (struct ana_op){.has = ANA_OP_HAS_KIND | ANA_OP_HAS_EVENTS,
			       .kind = ANA_OP_LOAD,
			       .op_class = 1,
			       .events = events};
}

/* With a TLB hit. */
static void check_sources(void)
{
	/* clang-format off */
	static const struct row rows[] = {
		{&n1, 0x00, 0x288100142,  "L1D",           "LVL L1 hit|SNP None"},
		{&n1, 0x08, 0x488100442,  "L2D",           "LVL L2 hit|SNP None"},
		{&n1, 0x09, 0x8488100442, "peer core",     "LVL L2 hit|SNP None or Peer"},
		{&n1, 0x0a, 0x8688100842, "local cluster", "LVL L3 hit|SNP None or Peer"},
		{&n1, 0x0b, 0x688200842,  "system cache",  "LVL L3 hit|SNP Hit"},
		{&n1, 0x0c, 0x8688100842, "peer cluster",  "LVL L3 hit|SNP None or Peer"},
		{&n1, 0x0d, 0xbe88100022, "remote",        "LVL N/A|SNP None or Peer"},
		{&n1, 0x0e, 0x1a88101042, "DRAM",          "LVL RAM hit|SNP None"},
		/* Neither reported nor known: by the events, of which there are none. */
		{&n1, -1,   0x1e88100022, NULL, "LVL N/A|SNP None"},
		{&n1, 0x05, 0x1e88100022, NULL, "LVL N/A|SNP None"},
		{&unknown, 0x0e, 0x1e88100022, NULL, "LVL N/A|SNP None"},
		{&nothing, 0x0e, 0x1e88080022, NULL, "LVL N/A|SNP N/A"},
		{&ampere, 0x00, 0x8488100442, "local chip cache or device", "LVL L2 hit|SNP None or Peer"},
		{&ampere, 0x03, 0x688200842,  "system level cache",         "LVL L3 hit|SNP Hit"},
		{&ampere, 0x05, 0xbe88100022, "remote chip cache",          "LVL N/A|SNP None or Peer"},
		{&ampere, 0x07, 0x1a88101042, "DRAM", "LVL RAM hit|SNP None"},
		{&ampere, 0x08, 0x288100142,  "L1D",  "LVL L1 hit|SNP None"},
		{&ampere, 0x09, 0x488100442,  "L2D",  "LVL L2 hit|SNP None"},
		{&hip, 0x00, 0x8488100442, "peer CPU",                "LVL L2 hit|SNP None or Peer"},
		{&hip, 0x01, 0x8488800442, "peer CPU, modified",      "LVL L2 hit|SNP HitM or Peer"},
		{&hip, 0x02, 0x688200842,  "L3",                      "LVL L3 hit|SNP Hit"},
		{&hip, 0x03, 0x688800842,  "L3, modified",            "LVL L3 hit|SNP HitM"},
		{&hip, 0x04, 0x8688108042, "peer cluster",            "LVL L3 hit|SNP None or Peer"},
		{&hip, 0x05, 0x8688808042, "peer cluster, modified",  "LVL L3 hit|SNP HitM or Peer"},
		{&hip, 0x06, 0xb688110002, "remote socket",           "LVL Remote Any cache |SNP None or Peer"},
		{&hip, 0x07, 0xb688810002, "remote socket, modified", "LVL Remote Any cache |SNP HitM or Peer"},
		{&hip, 0x08, 0x1a88101042, "local memory",            "LVL RAM hit|SNP None"},
		{&hip, 0x09, 0x3a88102042, "remote memory",           "LVL Remote RAM hit|SNP None"},
		{&hip, 0x0d, 0x1488120042, "non-cacheable device",    "LVL I/O hit|SNP None"},
		{&hip, 0x10, 0x488100442,  "L2",                      "LVL L2 hit|SNP None"},
		{&hip, 0x11, 0x488800442,  "L2, modified",            "LVL L2 hit|SNP HitM"},
		{&hip, 0x12, 0x288100142,  "L1",                      "LVL L1 hit|SNP None"},
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ana_op op = load(ANA_OP_TLB_ACCESS);
		struct buf text = {0};

		op.has |= rows[i].source < 0 ? 0u : (uint32_t)ANA_OP_HAS_SOURCE;
		op.source = rows[i].source < 0 ? 0 : (uint64_t)rows[i].source;
		spe_set_data_src(rows[i].core, &op);
		CHECK(op.data_src == rows[i].want, "source %d of %x: %llx", rows[i].source,
		      rows[i].core->midr, (unsigned long long)op.data_src);
		CHECK_STR(op.source_name ? op.source_name : "", rows[i].name ? rows[i].name : "",
			  "name of source %d of %x", rows[i].source, rows[i].core->midr);
		data_src_text(&text, op.data_src, true);
		CHECK(strstr(buf_cstr(&text), rows[i].text), "text of source %d of %x: %s",
		      rows[i].source, rows[i].core->midr, buf_cstr(&text));
		buf_done(&text);
	}
}

/* Each number on each core of Arm: as on N1; and on each kind of core, a number without a name has
 * no meaning. */
static void check_all_numbers(void)
{
	static const struct {
		const struct spe_config *core;
		unsigned int nr_named;
	} kinds[] = {
		{&n1,      8 },
                {&ampere,  6 },
                {&hip,     14},
                {&unknown, 0 }
        };
	unsigned int nr_wrong = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		unsigned int nr_named = 0;

		for (uint64_t n = 0; n < 0x10000; n++) {
			struct ana_op op = load(ANA_OP_TLB_ACCESS);

			op.has |= ANA_OP_HAS_SOURCE;
			op.source = n;
			spe_set_data_src(kinds[k].core, &op);
			nr_named += op.source_name != NULL;
			nr_wrong += !op.source_name && op.data_src != 0x1e88100022;
		}
		CHECK_EQ(nr_named, kinds[k].nr_named, "sources with names on %x",
			 kinds[k].core->midr);
	}
	CHECK_EQ(nr_wrong, 0, "all others say nothing of a level");
	for (size_t i = 0; i < NR_ARM; i++) {
		struct spe_config c = {(uint32_t)(0x411f0002 | arm[i] << 4), ANA_OP_SNOOPED, true,
				       NULL};

		for (uint64_t n = 0; n < 256; n++) {
			struct ana_op a = load(ANA_OP_TLB_ACCESS), b;

			a.has |= ANA_OP_HAS_SOURCE;
			a.source = n;
			b = a;
			spe_set_data_src(&n1, &a);
			spe_set_data_src(&c, &b);
			nr_wrong += a.data_src != b.data_src || a.source_name != b.source_name;
		}
	}
	CHECK_EQ(nr_wrong, 0, "each number on each core of Arm");
}

static void check_events(void)
{
	static const struct {
		uint64_t events, want;
	} rows[] = {
		{ANA_OP_RETIRED,					  0x1e00100022},
		{ANA_OP_L1D_ACCESS,				       0x200100142 },
		{ANA_OP_L1D_ACCESS | ANA_OP_L1D_MISS,                     0x200100182 },
		{ANA_OP_LFB,					      0x1800100242},
		{ANA_OP_L2D_ACCESS,				       0x400100442 },
		{ANA_OP_L2D_ACCESS | ANA_OP_L2D_MISS,                     0x400100482 },
		{ANA_OP_LLC_ACCESS,				       0x600100842 },
		{ANA_OP_LLC_ACCESS | ANA_OP_LLC_MISS,                     0x600100882 },
		{ANA_OP_L1D_ACCESS | ANA_OP_SNOOPED,                      0x200200142 },
		{ANA_OP_L1D_ACCESS | ANA_OP_SNOOPED | ANA_OP_HITM,        0x200800142 },
		{ANA_OP_L1D_ACCESS | ANA_OP_REMOTE,                       0x2200100142},
		{ANA_OP_L1D_ACCESS | ANA_OP_TLB_ACCESS,                   0x288100142 },
		{ANA_OP_L1D_ACCESS | ANA_OP_TLB_ACCESS | ANA_OP_TLB_WALK, 0x290100142 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ana_op op = load(rows[i].events);

		spe_set_data_src(&unknown, &op);
		CHECK(op.data_src == rows[i].want, "load with events %llx: %llx",
		      (unsigned long long)rows[i].events, (unsigned long long)op.data_src);
		op.kind = ANA_OP_STORE;
		spe_set_data_src(&unknown, &op);
		CHECK(op.data_src == ((rows[i].want & ~(uint64_t)2) | 4) ||
			      rows[i].events & ANA_OP_LFB,
		      "store with events %llx: %llx", (unsigned long long)rows[i].events,
		      (unsigned long long)op.data_src);
	}
}

static void check_others(void)
{
	struct ana_op op = load(ANA_OP_TLB_ACCESS | ANA_OP_L1D_ACCESS);

	op.kind = ANA_OP_STORE;
	op.has |= ANA_OP_HAS_SOURCE;
	spe_set_data_src(&n1, &op);
	CHECK(op.data_src == 0x1e88080024, "a store of a known core: %llx",
	      (unsigned long long)op.data_src);
	op.source = 4;
	spe_set_data_src(&ampere, &op);
	CHECK(op.data_src == 0x288100144, "of a source that AmpereOne does not have: %llx",
	      (unsigned long long)op.data_src);
	op.source = 0;
	op.kind = ANA_OP_BRANCH;
	spe_set_data_src(&n1, &op);
	CHECK(!op.data_src, "a branch");
	op.kind = ANA_OP_OTHER;
	op.op_class = 0;
	op.op = 0x08;
	spe_set_data_src(&n1, &op);
	CHECK(op.data_src == 0x288100141, "data processing on vectors: %llx",
	      (unsigned long long)op.data_src);
	op.source = 5;
	spe_set_data_src(&n1, &op);
	CHECK(op.data_src == 0x1e88100021, "of an unknown source, whatever its events: %llx",
	      (unsigned long long)op.data_src);
	op.op = 1;
	spe_set_data_src(&n1, &op);
	CHECK(!op.data_src, "a conditional select");
	op.has = 0;
	op.kind = ANA_OP_LOAD;
	spe_set_data_src(&n1, &op);
	CHECK(!op.data_src, "an unknown operation");
	CHECK(spe_names_sources(&n1) && spe_names_sources(&hip) && !spe_names_sources(&unknown) &&
		      !spe_names_sources(&nothing),
	      "cores with a table");
}

/* One of each table: the core is known by implementer and part, whatever its variant. */
static void check_cores(void)
{
	unsigned int nr = 0, nr_others = 0;

	for (size_t i = 0; i < NR_ARM; i++)
		nr += spe_names_sources(&(struct spe_config){
			.midr = 0x417f0003u | (uint32_t)arm[i] << 4, .has_midr = true});
	CHECK_EQ(nr, 15, "cores of Arm");
	CHECK(spe_names_sources(&(struct spe_config){.midr = 0x4e0f0100, .has_midr = true}),
	      "Olympus");
	for (uint32_t part = 0; part < 0x1000; part++)
		nr_others += spe_names_sources(
			&(struct spe_config){.midr = 0x41000000 | part << 4, .has_midr = true});
	CHECK_EQ(nr_others, 15, "and no others of Arm");
}

int main(void)
{
	check_cores();
	check_sources();
	check_all_numbers();
	check_events();
	check_others();
	return tap_done();
}
