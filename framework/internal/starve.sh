#!/usr/bin/env bash
# Runs a command while the containers of the nodes get a share of the machine's processors, as on a CI runner with a quota:
#
#   framework/internal/starve.sh 1/3 bin/holdfast run
#
# The exit code is the command's. The limit is taken away at the end, also after Ctrl-C; after SIGKILL the next call takes it away. Where no control
# group can be limited, endless loops run beside the command. https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files
set -euo pipefail

groups=/sys/fs/cgroup
processors=$(getconf _NPROCESSORS_ONLN)
part=${1%/*} of=${1#*/}
shift
quota=$((100000 * processors * part / of)) # of the kernel's default period of 100 ms

limited=() made=() loops=()
restore() {
  for file in "${limited[@]}"; do echo "$unlimited" >"$file"; done
  rmdir "${made[@]}" 2>/dev/null || true # fails if the engine still uses it
  if [ ${#loops[@]} -gt 0 ]; then kill "${loops[@]}"; fi
}
trap restore EXIT

# Podman's and Docker's containers have groups of their own. Those of Docker under systemd are in system.slice, beside everything else.
names=(libpod_parent docker)
if [ -d /run/systemd/system ]; then names=(machine.slice); fi
for name in "${names[@]}"; do
  if [ -e "$groups/cgroup.controllers" ]; then
    folder=$groups/$name file=$groups/$name/cpu.max unlimited=max
  else
    folder=$groups/cpu/$name file=$groups/cpu/$name/cpu.cfs_quota_us unlimited=-1
  fi
  if mkdir "$folder" 2>/dev/null; then made+=("$folder"); fi
  if [ -w "$file" ] && echo "$quota" >"$file" && [[ $(<"$file") == "$quota"* ]]; then
    limited+=("$file")
    echo "starve: $file is $quota"
  fi
done
if [ ${#limited[@]} -eq 0 ]; then
  for ((i = 0; i < processors * (of - part) / part; i++)); do
    while [ -d /proc/$$ ]; do :; done &
    loops+=($!)
  done
  echo "starve: no control group can be limited; ${#loops[@]} endless loops run beside the command"
fi

# Signals are the command's, which runs in a process group of its own: it ends when it has undone what it did, and only then is the limit taken away.
set -m
"$@" &
command=$!
trap 'kill -INT "$command"' INT
trap 'kill -TERM "$command"' TERM
trap 'kill -HUP "$command"' HUP
code=0
wait "$command" || code=$?
while kill -0 "$command" 2>/dev/null; do # a signal ended the wait
  code=0
  wait "$command" || code=$?
done
exit "$code"
