#!/usr/bin/env bash
# Pushes the executable of a release as an image for one architecture: IMAGE-ARCH. The executable writes its own image; nothing is built.
set -euo pipefail

cd "$RUNNER_TEMP"
archive="holdfast_${GITHUB_REF_NAME#v}_linux_$ARCH.tar.gz"
gh release download "$GITHUB_REF_NAME" --repo "$GITHUB_REPOSITORY" --pattern "$archive" --pattern checksums.txt
grep "  $archive\$" checksums.txt | shasum -a 256 --check --strict
tar -xzf "$archive" holdfast
ref=$(./holdfast image self holdfast.tar)
docker load --input holdfast.tar
docker tag "$ref" "$IMAGE-$ARCH"
docker login --username "$LOGIN" --password-stdin "${REPOSITORY%%/*}" <<< "$PASSWORD"
docker push "$IMAGE-$ARCH"
