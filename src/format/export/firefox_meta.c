/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "format/export/export_name.h"
#include "format/export/firefox.h"

/* What a profile says of itself. */
enum { GECKO_VERSION = 24, PROCESSED_VERSION = 61 };

static void put_categories(struct json_put *j)
{
	static const struct {
		const char *name, *color;
	} all[] = {
		[FIREFOX_OTHER] = {"Other",        "grey"   }, /* must be there: the default */
		[FIREFOX_USER] = {"User",         "yellow" },
		[FIREFOX_KERNEL] = {"Kernel",       "orange" },
		[FIREFOX_GUEST_USER] = {"Guest user",   "green"  },
		[FIREFOX_GUEST_KERNEL] = {"Guest kernel", "blue"   },
		[FIREFOX_HYPERVISOR] = {"Hypervisor",   "magenta"},
		[FIREFOX_CUT] = {"Cut stack",    "red"    },
	};

	json_key(j, "categories");
	json_open(j, '[');
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		json_open(j, '{');
		json_put_string(j, "name", all[i].name);
		json_put_string(j, "color", all[i].color);
		json_key(j, "subcategories");
		json_open(j, '[');
		json_string(j, "Other");
		json_close(j, ']');
		json_close(j, '}');
	}
	json_close(j, ']');
}

/* Wall time of the profile's 0; 0: unknown. */
static uint64_t start_ns(struct export *x)
{
	const struct firefox *p = export_state(x);
	struct perf_file *file = export_opts(x)->file;
	struct perf_clock_data clock;

	if (p->start == UINT64_MAX || !file ||
	    !perf_features_clock_data(perf_file_features(file), &clock))
		return 0;
	return clock.wall_clock_ns + p->start - clock.clockid_ns;
}

static void put_units(struct json_put *j)
{
	json_key(j, "sampleUnits");
	json_open(j, '{');
	json_put_string(j, "time", "ms");
	json_put_string(j, "eventDelay", "ms");
	json_put_string(j, "threadCPUDelta", "ns");
	json_close(j, '}');
}

void firefox_put_meta(struct export *x, const struct export_event *e, const char *product)
{
	uint64_t interval = e ? export_interval_of(e->evsel) : 0;
	struct firefox *p = export_state(x);
	struct json_put *j = &p->json;

	json_key(j, "meta");
	json_open(j, '{');
	json_put_u64(j, "version", GECKO_VERSION);
	json_put_u64(j, "preprocessedProfileVersion", PROCESSED_VERSION);
	json_key(j, "interval");
	json_fixed(j, interval ? interval : 1000000, FIREFOX_NS_DECIMALS);
	json_key(j, "startTime");
	json_fixed(j, start_ns(x), FIREFOX_NS_DECIMALS);
	json_put_u64(j, "processType", 0);
	json_put_string(j, "product", product);
	json_put_string(j, "importedFrom", "clew");
	json_put_string(j, "platform", "Linux");
	json_put_u64(j, "stackwalk", 1);
	json_put_bool(j, "symbolicated", true);
	put_categories(j);
	firefox_put_schemas(j);
	put_units(j);
	json_close(j, '}');
}
