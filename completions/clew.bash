# SPDX-License-Identifier: LGPL-2.1-or-later
# bash completion for clew: commands and options are read from --help, so they are those of the clew in PATH.
_clew()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}

	if [[ $COMP_CWORD -eq 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(clew --help 2> /dev/null | sed -n 's/^  \([a-z]\+\)  .*/\1/p')" -- "$cur")
	elif [[ $command == sframe && $COMP_CWORD -eq 2 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "dump check make" -- "$cur")
	elif [[ $command == export && $prev == --to ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(clew export --to '?' 2>&1 | sed -n 's/.*formats: //p' | tr -d ,)" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(clew "$command" --help 2> /dev/null | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u)" -- "$cur")
	elif [[ $command == annotate && $prev != -* ]]; then
		local i file=perf.data
		for ((i = 2; i < COMP_CWORD; i++)); do [[ ${COMP_WORDS[i]} == -i ]] && file=${COMP_WORDS[i + 1]}; done
		mapfile -t COMPREPLY < <(compgen -W "$(clew report -i "$file" -q -s sym --no-children -g none -t '|' 2> /dev/null | sed -n 's/^ *[0-9.]*%|\[.\] \([^ ]*\)$/\1/p')" -- "$cur")
	elif [[ $command =~ ^(record|stat|top)$ && $prev == -e ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(clew list 2> /dev/null | sed -n 's/^  \([^ ]*\).*/\1/p')" -- "$cur")
	elif [[ $command =~ ^(record|stat|top)$ ]]; then
		mapfile -t COMPREPLY < <(compgen -c -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -o filenames -F _clew clew
