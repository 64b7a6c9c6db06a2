#!/usr/bin/env bash
# Downloads the release VERSION, or the one that this action came with, and compares it with the release's own sums. What cannot be had is left to
# build.sh, with the reason; what was had and is not what was published ends the job.
set -euo pipefail

# A user names the action by a tag, such as v1.2.3, by a branch or by a commit; only the first is a release.
release=${VERSION:-$REF}
if [[ ! $release =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || [ -z "$REPOSITORY" ]; then
  echo "holdfast is built from source: ${release:-a local copy of this action} is no release"
  exit 0
fi
case "$RUNNER_OS/$RUNNER_ARCH" in
  Linux/X64) platform=linux_amd64 ;;
  Linux/ARM64) platform=linux_arm64 ;;
  macOS/X64) platform=darwin_amd64 ;;
  macOS/ARM64) platform=darwin_arm64 ;;
  *)
    echo "holdfast is built from source: no release has an executable for $RUNNER_OS on $RUNNER_ARCH"
    exit 0
    ;;
esac

name="holdfast_${release#v}_$platform.tar.gz"
from="$GITHUB_SERVER_URL/$REPOSITORY/releases/download/$release"
into="$RUNNER_TEMP/holdfast/$release"
mkdir -p "$into"
for file in checksums.txt "$name"; do
  if ! why=$(curl --fail --silent --show-error --location --retry 3 --max-time 300 --output "$into/$file" "$from/$file" 2>&1); then
    echo "holdfast is built from source: release $release has no $file, or it cannot be had: $why"
    exit 0
  fi
done

wanted=$(awk -v name="$name" '$2 == name { print $1 }' "$into/checksums.txt")
if command -v sha256sum > /dev/null; then
  got=$(sha256sum "$into/$name" | cut -d ' ' -f 1)
else
  got=$(shasum -a 256 "$into/$name" | cut -d ' ' -f 1) # macOS
fi
if [ "$got" != "$wanted" ]; then
  rm "$into/$name"
  echo "::error title=holdfast $release is not what was published::$name has the sum $got, and checksums.txt says '$wanted'. Nothing of it is run, and nothing is built in its place."
  exit 1
fi
tar -xzf "$into/$name" -C "$into" holdfast
echo "holdfast is release $release, downloaded from $from and compared with its sum"
echo "program=$into/holdfast" >> "$GITHUB_OUTPUT"
