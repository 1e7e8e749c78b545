# SPDX-License-Identifier: LGPL-2.1-or-later
# fish completion for clew: commands and options are read from --help, so they are those of the clew in PATH.
function __clew_options
    clew (commandline -opc)[2] --help 2>/dev/null | string match -r -a -- '--[a-z][a-z0-9-]+' | sort -u
end
complete -c clew -f -n __fish_use_subcommand -a '(clew --help 2>/dev/null | string replace -f -r "^  ([a-z]+)  +(.*)" "\$1\t\$2")'
complete -c clew -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -a '(__clew_options)'
complete -c clew -n '__fish_seen_subcommand_from sframe' -a 'dump check make'
complete -c clew -n '__fish_seen_subcommand_from annotate; and not string match -q -- "-*" (commandline -ct)' -a '(clew report -q -s sym --no-children -g none -t "|" 2>/dev/null | string replace -f -r "^ *[0-9.]+%\|\[.\] ([^ ]+)\$" "\$1")'
complete -c clew -n '__fish_seen_subcommand_from export' -l to -x -a '(clew export --to "?" 2>&1 | string match -r "formats: .*" | string replace "formats: " "" | string split ", ")'
