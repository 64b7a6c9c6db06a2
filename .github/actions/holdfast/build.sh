#!/usr/bin/env bash
# Builds holdfast where download.sh left it to this: the VERSION asked for, or the source that this action came with. GitHub brings the whole
# repository of an action, at the ref that was named.
set -euo pipefail

bin="$RUNNER_TEMP/holdfast/bin"
mkdir -p "$bin"
export CGO_ENABLED=0 # its own images hold nothing but it
source="$GITHUB_ACTION_PATH/../../.."
if [ -n "${VERSION:-}" ]; then
  GOBIN="$bin" go install -trimpath "github.com/holdfast-ha/holdfast@$VERSION"
else
  # Another user may own the source, and then git refuses to say which commit it is.
  go build -C "$source" -trimpath -buildvcs=false -o "$bin/holdfast" .
fi
if [ "$RUNNER_OS" = macOS ]; then # containers run on Linux
  arch=$(go env GOARCH)
  if [ -n "${VERSION:-}" ]; then # go refuses GOBIN for another system
    GOOS=linux go install -trimpath "github.com/holdfast-ha/holdfast@$VERSION"
    mv "$(go env GOPATH)/bin/linux_$arch/holdfast" "$bin/holdfast-linux-$arch"
  else
    GOOS=linux go build -C "$source" -trimpath -buildvcs=false -o "$bin/holdfast-linux-$arch" .
  fi
fi
echo "program=$bin/holdfast" >> "$GITHUB_OUTPUT"
