# SPDX-License-Identifier: Apache-2.0
# fish completion for gantry, installed as share/fish/vendor_completions.d/gantry.fish.

function __gantry_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    # The value of --option=VALUE and of NAME=FILE.
    set -l value (string replace -r '^.*=' '' -- $typed)
    set -l before (string match -r '^.*=' -- $typed; or echo '')
    for line in ($words[1] __complete -- $words[2..-1] "$typed" 2>/dev/null)
        switch $line
            case :files
                printf '%s\n' $before(__fish_complete_path $value)
            case :directories
                printf '%s\n' $before(__fish_complete_directories $value '')
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c gantry -f -a '(__gantry_complete)'
