#!/usr/bin/env bash
# Gives the images of both architectures one name, and tells its digest.
set -euo pipefail

docker login --username "$LOGIN" --password-stdin "${REPOSITORY%%/*}" <<< "$PASSWORD"
docker buildx imagetools create --tag "$IMAGE" "$IMAGE-amd64" "$IMAGE-arm64"
digest=$(docker buildx imagetools inspect "$IMAGE" --format '{{.Manifest.Digest}}')
echo "digest=$digest" >> "$GITHUB_OUTPUT"
