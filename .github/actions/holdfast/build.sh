#!/usr/bin/env bash
# Builds holdfast where download.sh left it to this: the VERSION asked for, or the source that this action came with. GitHub brings the whole
# repository of an action, at the ref that was named.
set -euo pipefail

bin="$RUNNER_TEMP/holdfast/bin"
mkdir -p "$bin"
export CGO_ENABLED=0 # its own images hold nothing but it
if [ -n "${VERSION:-}" ]; then
  GOBIN="$bin" go install -trimpath "github.com/holdfast-ha/holdfast@$VERSION"
else
  # Another user may own the source, and then git refuses to say which commit it is.
  go build -C "$GITHUB_ACTION_PATH/../../.." -trimpath -buildvcs=false -o "$bin/holdfast" .
fi
echo "program=$bin/holdfast" >> "$GITHUB_OUTPUT"
