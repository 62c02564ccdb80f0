# SPDX-License-Identifier: Apache-2.0
# bash completion for gantry, installed as share/bash-completion/completions/gantry.

_gantry() {
  local word description typed cut glued= words=() i

  # bash divides words at the characters of COMP_WORDBREAKS, gantry divides them at blanks.
  for ((i = 1; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $glued || $word == [=:]* ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
    if [[ $word == *[=:] ]]; then glued=1; else glued=; fi
  done

  # The part of the word that bash replaces, and the part before it.
  typed=${COMP_WORDS[COMP_CWORD]}
  if [[ $typed == [=:] ]]; then typed=; fi
  cut=${words[-1]%"$typed"}

  COMPREPLY=()
  while IFS=$'\t' read -r word description; do
    case $word in
      :files)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$typed")
        ;;
      :directories)
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$typed")
        ;;
      *) COMPREPLY+=("${word#"$cut"}") ;;
    esac
  done < <("$1" __complete -- "${words[@]}" 2>/dev/null)
}

complete -F _gantry gantry
