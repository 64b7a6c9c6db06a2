#!/usr/bin/env bash
# Certifies an upgrade in which PLANT was planted: it must end as one that broke something, and the certificate must name the CAUSE.
set -euo pipefail

code=0
bin/holdfast certify "$@" --plant "$PLANT" || code=$?
if [ "$code" != 1 ]; then
  echo "::error::$PLANT was planted, and holdfast ended with $code, not with 1: something was violated"
  exit 1
fi
if ! grep -qF -- "$CAUSE" artifacts/last-attempt/certificate.md; then
  echo "::error::$PLANT was planted, and the certificate does not say $CAUSE"
  exit 1
fi
cat artifacts/last-attempt/certificate.md >> "$GITHUB_STEP_SUMMARY"
