#!/bin/sh
# Usage: check-headers.sh CC CXX HEADER ...: each public header compiles alone, as C and as C++, and all of
# include/clew is in the list that is installed. TAP. Run from the top folder.
cc=$1 cxx=$2
shift 2
count=0
failed=0
result() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=1; fi
}
warnings="-Wall -Wextra -Werror -fsyntax-only -Iinclude"
for header; do
	name=clew/${header##*/}
	for language in "$cc -std=c11 -x c" "$cxx -std=c++11 -x c++"; do
		# shellcheck disable=SC2086 # commands are lists of words
		echo "#include <$name>" | $language $warnings -Wpedantic - 2>&1 | sed 's/^/# /' | grep .
		[ $? = 1 ]
		result $? "$name, ${language##* }"
	done
done
for header in include/clew/*.h; do
	case " $* " in
	*"/$header "*) result 0 "$header is installed" ;;
	*) result 1 "$header is installed (list it in include/meson.build)" ;;
	esac
done
echo "1..$count"
exit $failed
