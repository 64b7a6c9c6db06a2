# Runs in a container of a node image, without a network. Prints a tar archive with the image's kubeadm, kubelet, kubectl and
# control plane images. The file "images" in it lists the images, one per line: file, reference, digest. $1 is the version.
set -euo pipefail
mkdir -p /release && cd /release
cp "$(command -v kubeadm)" "$(command -v kubelet)" "$(command -v kubectl)" .
containerd >/release.log 2>&1 &
for _ in $(seq 300); do
  ctr version >/dev/null 2>&1 && break
  sleep 0.1
done
ctr version >/dev/null || { tail -5 /release.log >&2; exit 1; }
for ref in $(kubeadm config images list --kubernetes-version "$1" 2>/dev/null); do
  name=${ref##*/}
  file=${name%%:*}.tar
  # --local: a stream from the daemon is sometimes cut off without an error (seen with containerd v2.3.4 on a busy machine).
  ctr --namespace k8s.io images export --local "$file" "$ref" 2>/tmp/said || { cat /tmp/said >&2; exit 1; }
  tar --list --file "$file" >/dev/null # a truncated archive must not be kept
  digest=$(ctr --namespace k8s.io images ls "name==$ref" 2>/dev/null | awk 'NR == 2 {print $3}')
  echo "$file $ref $digest" >>images
done
tar --create --file - kubeadm kubelet kubectl images ./*.tar
