#!/bin/sh
# Run every test: `make check`. Prints each test's result and, last, `N passed, N failed, N skipped`.
#   plain     all tests, and the checks of the tree itself
#   asan      all tests again under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan      the tests with threads again under ThreadSanitizer
#   aarch64   unit tests of a cross build, under qemu
#   fuzz      each target for FUZZ_SECONDS (10 with CI=true, else 5)
# CHECK="plain asan" runs only these. CI=true turns gcc's warnings into errors (not TSan's own, nor clang's).
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build} JOBS=${JOBS:-$(nproc)}
CHECK=${CHECK:-plain asan tsan aarch64 fuzz}
THREADED="analyze_test session_test trace_merge_test ipt_flow_test ipt_random etm_sets etm_fast_test perf_etm_test session_test spe_fold_test aux_source_test"
werror=false
seconds=5
if [ "${CI:-}" = true ]; then werror=true seconds=10; fi
export FUZZ_SECONDS="${FUZZ_SECONDS:-$seconds}"
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}"

# perf mounts it as soon as it is asked for a tracepoint: which tests find it must not hang on their order.
if [ "$(id -u)" = 0 ] && [ -d /sys/kernel/tracing ] && [ ! -d /sys/kernel/tracing/events ]; then
	mount -t tracefs nodev /sys/kernel/tracing || echo 'tracefs cannot be mounted: tests of tracepoints are skipped'
fi

results=$(mktemp -d) || exit 1
builder=
trap '[ -z "$builder" ] || kill "$builder" 2> /dev/null; rm -rf "$results"' EXIT
trap 'exit 1' INT TERM HUP

# describe NAME: of a step, where it is built and how; which tests (options of meson test), empty: all; and what else is built for them.
describe() {
	multiplier=5 tests='' target='' compiler=''
	case $1 in
	plain) dir=$BUILD options="-Dwerror=$werror" ;;
	# With a sanitizer gcc sees paths that cannot be taken and warns of them: warnings stay warnings there. -O1 compiles in 60 % of -O2's time.
	asan) dir=build-asan options='-Db_sanitize=address,undefined -Db_lundef=false' multiplier=10 ;;
	tsan) dir=build-tsan options='-Db_sanitize=thread -Db_lundef=false' tests=$THREADED ;;
	# The command is built too: it has to compile for aarch64, and with clang.
	aarch64) dir=build-aarch64 options="-Dwerror=$werror --cross-file tools/aarch64.ini" multiplier=10 tests='--suite unit' target=clew ;;
	fuzz)
		dir=build-fuzz options='-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1'
		multiplier=1 tests='--suite fuzz' target=clew compiler=clang-14
		;;
	esac
}

# Build what the step NAME needs; the log goes to $results.
build() (
	describe "$1"
	[ -z "$compiler" ] || export CC=$compiler
	again=
	targets=
	[ -e "$dir/build.ninja" ] && again=--reconfigure
	# shellcheck disable=SC2086 # options are lists of words
	meson setup $again "$dir" $options || exit 1
	# shellcheck disable=SC2086
	if [ -n "$tests" ]; then targets="$(tools/test-targets.py "$dir" $tests) $target" || exit 1; fi
	# shellcheck disable=SC2086
	ninja -C "$dir" -j "$JOBS" $targets
) > "$results/$1.log" 2>&1

# build_all NAME ...: one after the other; $results/NAME.built then has the status of each.
build_all() {
	for name; do
		build "$name"
		echo $? > "$results/$name.status"
		mv "$results/$name.status" "$results/$name.built"
	done
}

# run_step NAME: a build that fails is one failure.
run_step() {
	name=$1 start=$(date +%s)
	describe "$name"
	printf '\n== %s: build in %s\n' "$name" "$dir"
	while [ ! -e "$results/$name.built" ]; do sleep 1; done
	if [ "$(cat "$results/$name.built")" = 0 ]; then
		printf '== %s: test\n' "$name"
		rm -f "$dir/meson-logs/testlog.json"
		# shellcheck disable=SC2086 # a list of words
		meson test -C "$dir" --no-rebuild --num-processes "$JOBS" --print-errorlogs --timeout-multiplier "$multiplier" $tests
		cp "$dir/meson-logs/testlog.json" "$results/$name.json"
	else
		grep -E -A8 'error|ERROR|FAILED|warning|no such test' "$results/$name.log" | tail -n 60
		echo "== $name: the build failed"
		echo '{"name": "build", "result": "FAIL", "stdout": ""}' > "$results/$name.json"
	fi
	printf '== %s: %s s\n' "$name" $(($(date +%s) - start))
}

steps=
for step in plain asan tsan aarch64 fuzz; do
	case " $CHECK " in *" $step "*) ;; *) continue ;; esac
	if [ $step = aarch64 ] && [ "$(uname -m)" != x86_64 ]; then continue; fi
	if [ $step = fuzz ] && [ ! -e tests/fuzz/meson.build ]; then continue; fi
	steps="$steps $step"
done

# Tests often wait, for time or for one another: meanwhile the trees of the next steps are built.
# shellcheck disable=SC2086 # a list of words
set -- $steps
if [ $# -gt 0 ]; then
	build_all "$1"
	first=$1
	shift
	if [ $# -gt 0 ]; then
		build_all "$@" &
		builder=$!
		renice -n 19 -p "$builder" > /dev/null
	fi
	for step in $first "$@"; do run_step "$step"; done
fi
echo
python3 tools/tally.py "$results"/*.json
