# Around a block of the shell: reads the state that the block before has left, runs the block, and
# writes the state that it leaves. See lmc_jupyter/computer/languages/shell.py.
#
# $2 is the folder with `before` (the state, if there is one), `bash` (the block) and `after`; $3 is
# what to say first. `builtin` stands where the block may have a function of the same name.

if [[ $3 ]]; then echo "$3"; fi
__lmc_folder=$2
set --

__lmc_save() {
  # A child that was just forked, and is ended before it has become its program, is not the shell.
  [[ ${BASHPID-$$} == "$$" && ! ${__lmc_saved-} ]] || return
  unset -f builtin # else nothing below is what it says
  builtin trap '' INT TERM
  builtin declare -p >|"$__lmc_folder/variables"
  # It may end in a function, by a trap: behind its local variables stand those that they hide.
  [[ ! ${1-} ]] || (
    IFS=$' \n'
    builtin set -- $(builtin compgen -v)
    for __lmc_name in "${FUNCNAME[@]:1}"; do # each time one level of them goes
      builtin unset -v "$@" || builtin :
      builtin declare -p
    done
  ) >>"$__lmc_folder/variables"
  builtin shopt -po >|"$__lmc_folder/options"
  {
    builtin echo '__lmc_options() {' # called last, since `set -e` holds from there on
    while IFS= builtin read -r __lmc_line; do
      builtin echo "builtin $__lmc_line"
    done <"$__lmc_folder/options"
    builtin echo 'set +o onecmd; }' # with it bash would do nothing of the next block
    builtin shopt -p
    builtin set +euvx
    builtin shopt -u nocasematch
    builtin printf 'cd -- %q || echo "[this block runs in $PWD]"\n' "$PWD"
    builtin umask -p
    while IFS= builtin read -r __lmc_line; do
      __lmc_name=${__lmc_line#declare * }
      case ${__lmc_name%%=*} in # those that bash itself sets, or that cannot be set
        BASH | BASHOPTS | BASHPID | BASH_ALIASES | BASH_ARG[CV]* | BASH_CMDS | BASH_COMMAND) ;;
        BASH_EXECUTION_STRING | BASH_LINENO | BASH_SOURCE | BASH_SUBSHELL | BASH_VERSINFO) ;;
        DIRSTACK | EPOCHREALTIME | EPOCHSECONDS | EUID | FUNCNAME | GROUPS | HISTCMD) ;;
        LINENO | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | SHELLOPTS | SRANDOM | UID | _ | __lmc_*) ;;
        *)
          # one that is readonly may be there twice
          [[ ${__lmc_line%% [^-]*} == declare\ -*r* ]] && builtin printf '2>/dev/null '
          builtin echo "$__lmc_line"
          ;;
      esac
    done <"$__lmc_folder/variables"
    builtin unset -f __lmc_save
    builtin declare -f
    builtin echo '{ :'
    builtin export -fp
    builtin readonly -fp
    builtin echo '} 2>/dev/null' # one that is both is there twice
    builtin alias -p
    builtin echo '__lmc_whole=yes; __lmc_options 2>/dev/null'
    builtin echo '# whole'
  } >|"$__lmc_folder/after"
  __lmc_saved=yes
  builtin trap - INT TERM
}

shopt -s expand_aliases
{ # read as one, before an alias of the block before can change a word of it
  if [[ -e $__lmc_folder/before ]]; then
    compgen -e >|"$__lmc_folder/names" # `$(compgen -e)` would be another process
    while read -r __lmc_name; do # what that block has unset stays so
      [[ $__lmc_name == PWD ]] || unset "$__lmc_name" 2>/dev/null
    done <"$__lmc_folder/names"
    . "$__lmc_folder/before"
    { [[ ${__lmc_whole-} ]] || builtin echo '[part of the state of the shell could not be read]'; } \
      2>/dev/null # where `set -x` would show it
  fi
  {
    builtin unset __lmc_name __lmc_whole
    builtin unset -f __lmc_options
    : >|"$__lmc_folder/after"
    builtin trap '{ __lmc_save trap; } 2>/dev/null' EXIT
    # by default a second SIGINT would end it while it writes
    builtin trap '{ __lmc_save trap; builtin exit 130; } 2>/dev/null' INT
  } 2>/dev/null
  . "$__lmc_folder/bash"
  { __lmc_status=$?; __lmc_save; builtin exit "$__lmc_status"; } 2>/dev/null
}
