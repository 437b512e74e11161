# shellcheck shell=bash
# SPDX-FileCopyrightText: 2026 The portops authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every script here stands on: messages, steps with their times, jobs whose output goes to a log.
# Exit codes: 1 a build or a test failed, 2 a wrong call or a machine that lacks something.
set -euo pipefail

step() { printf '[%4d s] %s\n' "$SECONDS" "$*"; }

refuse() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 2
}

# need_value "$@": for an option that stands before its value.
need_value() { [[ $# -ge 2 && -n $2 ]] || refuse "$1 needs a value (see --help)"; }

# Prints the comment at the head of the running script, which is its help.
show_help() { sed -n '/^# Usage/,/^$/ { s/^# \{0,1\}//p }' "$0"; }

# --- jobs ---------------------------------------------------------------------------------------------------

job=        # the process group that is at work, if any
watcher=    # the process that shows how far it is, if any
at_exit=(:) # what to do when the script ends, however it does

# A job has a process group of its own: the script sees Ctrl-C first, and ends the whole group by its number.
start_job() {
  set -m
  "$@" </dev/null &
  job=$!
  set +m
}

wait_job() {
  local status=0
  wait "$job" || status=$?
  job=
  return "$status"
}

end_job() {
  [[ -n $job ]] || return 0
  kill -KILL -- "-$job" 2>/dev/null || true
  wait "$job" 2>/dev/null || true
}

end_watcher() {
  [[ -n $watcher ]] || return 0
  kill "$watcher" 2>/dev/null || true
  watcher=
  [[ ! -t 1 ]] || printf '\r\e[K'
}

at_end() {
  local status=$?
  trap '' INT TERM HUP
  end_job
  end_watcher
  ((status != 130)) || echo "${0##*/}: interrupted" >&2
  "${at_exit[@]}"
  exit "$status"
}

trap at_end EXIT
trap 'exit 130' INT TERM HUP

# run COMMAND...: as a job, its output shown.
run() {
  start_job "$@"
  wait_job
}

# run_logged LOG COMMAND...: as a job, its output in LOG; shows now and then how far it is.
run_logged() {
  local log=$1 status=0
  shift
  mkdir -p "${log%/*}"
  start_job "$@" >"$log" 2>&1
  watch_log "$log" &
  watcher=$!
  disown
  wait_job || status=$?
  end_watcher
  return "$status"
}

# On a terminal one line that changes every second, elsewhere a line every 15 seconds.
watch_log() {
  local log=$1 pause=15 line='[%4d s]   %s\n' waited=0 last shown='' idle
  [[ ! -t 1 ]] || pause=1 line='\r[%4d s]   %s\e[K'
  # Waiting with read on a pipe that stays silent needs no child that would outlive this one.
  exec {idle}<> <(:)
  while kill -0 $$ 2>/dev/null; do
    read -rt 1 -u "$idle" || true
    waited=$((waited + 1))
    ((waited % pause == 0)) || continue
    # The lines in which mmdebstrap, ninja, clang-tidy and ctest say so.
    last=$(grep -aE '^(I: |\[ *[0-9]+/| *[0-9]+/[0-9]+ )' "$log" | tail -n 1 | cut -c 1-90 || true)
    [[ -n $last && $last != "$shown" ]] || continue
    shown=$last
    # shellcheck disable=SC2059
    printf "$line" "$SECONDS" "$last"
  done
}

# failed LOG WHAT: shows the reason, which is where ninja says FAILED, or at the end.
failed() {
  printf '\n' >&2
  if grep -q '^FAILED:' "$1"; then
    sed -n '/^FAILED:/,$p' "$1" | head -n 40 >&2
  else
    tail -n 30 "$1" >&2
  fi
  printf '\n%s: %s; the whole log: %s\n' "${0##*/}" "$2" "$1" >&2
  exit 1
}
