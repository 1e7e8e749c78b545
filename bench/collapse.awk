# SPDX-License-Identifier: LGPL-2.1-or-later
# The text of `perf script` to collapsed stacks, in samples: "comm;outermost;...;innermost NR".
/^[^ \t]/ || /^ +[^ \t].*: *$/ { # a sample's first line: COMM PID [CPU] TIME: ...
	comm = $0
	sub(/^ +/, "", comm)
	sub(/ +[0-9]+(\/[0-9]+)? .*/, "", comm)
	stack = ""
	is_sample = 1
	next
}
/^$/ {
	if (is_sample)
		count[comm stack]++
	is_sample = 0
	next
}
{ # ADDRESS SYMBOL+OFFSET (FILE)
	name = $0
	sub(/^[ \t]+[0-9a-f]+ /, "", name)
	sub(/ \([^)]*\)$/, "", name)
	sub(/\+0x[0-9a-f]+$/, "", name)
	gsub(/;/, ":", name)
	stack = ";" name stack
}
END {
	if (is_sample)
		count[comm stack]++
	for (s in count)
		print s, count[s]
}
