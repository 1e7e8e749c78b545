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
THREADED="analyze_test trace_merge_test etm_sets etm_fast_test perf_etm_test session_test"
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
trap 'rm -rf "$results"' EXIT

# build_tests DIR [TESTS [TARGET]]: all that DIR can build; or what TESTS (options of meson test) need, and TARGET.
build_tests() {
	targets=
	# shellcheck disable=SC2086 # a list of words
	if [ -n "${2:-}" ]; then targets="$(tools/test-targets.py "$1" $2) ${3:-}" || return 1; fi
	# shellcheck disable=SC2086 # a list of words
	ninja -C "$1" -j "$JOBS" $targets
}

# run_step NAME DIR "MESON SETUP OPTIONS" TIMEOUT_MULTIPLIER [TESTS [TARGET]]: the log goes to $results; a build that fails is one failure.
run_step() {
	name=$1 dir=$2 start=$(date +%s)
	case " $CHECK " in *" $name "*) ;; *) return ;; esac
	printf '\n== %s: build in %s\n' "$name" "$dir"
	again=
	[ -e "$dir/build.ninja" ] && again=--reconfigure
	# shellcheck disable=SC2086 # options are lists of words
	if meson setup $again "$dir" $3 > "$results/log" 2>&1 && build_tests "$dir" "${5:-}" "${6:-}" > "$results/log" 2>&1; then
		printf '== %s: test\n' "$name"
		rm -f "$dir/meson-logs/testlog.json"
		# shellcheck disable=SC2086 # a list of words
		meson test -C "$dir" --no-rebuild --num-processes "$JOBS" --print-errorlogs --timeout-multiplier "$4" ${5:-}
		cp "$dir/meson-logs/testlog.json" "$results/$name.json"
	else
		grep -E -A8 'error|ERROR|FAILED|warning|no such test' "$results/log" | tail -n 60
		echo "== $name: the build failed"
		echo '{"name": "build", "result": "FAIL", "stdout": ""}' > "$results/$name.json"
	fi
	printf '== %s: %s s\n' "$name" $(($(date +%s) - start))
}

run_step plain "$BUILD" "-Dwerror=$werror" 5
# With a sanitizer gcc sees paths that cannot be taken and warns of them: warnings stay warnings there. -O1 compiles in 60 % of -O2's time.
run_step asan build-asan "-Db_sanitize=address,undefined -Db_lundef=false" 10
run_step tsan build-tsan '-Db_sanitize=thread -Db_lundef=false' 5 "$THREADED"
# The command is built too: it has to compile for aarch64, and with clang.
if [ "$(uname -m)" = x86_64 ]; then
	run_step aarch64 build-aarch64 "-Dwerror=$werror --cross-file tools/aarch64.ini" 10 '--suite unit' clew
fi
if [ -e tests/fuzz/meson.build ]; then
	CC=clang-14 run_step fuzz build-fuzz '-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1' 1 '--suite fuzz' clew
fi
echo
python3 tools/tally.py "$results"/*.json
