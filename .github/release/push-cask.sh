#!/usr/bin/env bash
# Puts the cask of a release that is published into the Homebrew tap TAP. A pre-release does not go there, because Homebrew would install it for
# all users. Without TAP_TOKEN, which may write to the tap, the cask is part of the release alone.
set -euo pipefail

if [[ $GITHUB_REF_NAME == *-* ]]; then
  echo "the tap stays as it is: $GITHUB_REF_NAME is a pre-release"
  exit 0
fi
if [ -z "$TAP_TOKEN" ]; then
  echo "the tap stays as it is: there is no token for it"
  exit 0
fi
cd "$RUNNER_TEMP"
gh release download "$GITHUB_REF_NAME" --repo "$GITHUB_REPOSITORY" --pattern holdfast.rb
export GH_TOKEN="$TAP_TOKEN"
file="repos/$TAP/contents/Casks/holdfast.rb"
# GitHub replaces a file only for who names what is there. So if a file is there and cannot be looked up, it is not replaced, and this fails.
old=$(gh api "$file" --jq .sha) || old=""
args=(--raw-field "message=holdfast $GITHUB_REF_NAME" --raw-field "content=$(base64 < holdfast.rb | tr -d '\n')")
if [ -n "$old" ]; then
  args+=(--raw-field "sha=$old")
fi
gh api --method PUT "$file" --silent "${args[@]}"
echo "Homebrew installs $GITHUB_REF_NAME now: it is in $TAP"
