# For half a second, endless loops on all processors; then for as long, requests to the kubelet's health check, each on a new connection.
# It prints how long each took, in microseconds, the processor time of the loops in seconds, and how many requests were answered.
export LC_ALL=C TIMEFORMAT='used %3U %3S'
now() { at=${EPOCHREALTIME/[.,]/}; }
all=$(nproc)
now; begin=$at; end=$((at + 500000))
{ time {
  for ((i = 0; i < all; i++)); do
    while ((${EPOCHREALTIME/[.,]/} < end)); do :; done &
  done
  wait
}; } 2>&1
now; echo "loops $((at - begin))"
answered() {
  local n=0 line
  while ((${EPOCHREALTIME/[.,]/} < end)) && exec 3<>/dev/tcp/127.0.0.1/10248; do
    printf 'GET /healthz HTTP/1.0\r\n\r\n' >&3
    read -r -t 1 line <&3 && [[ $line == *' 200 '* ]] && n=$((n + 1))
    exec 3>&-
  done
  echo "answered $n"
}
now; begin=$at; end=$((at + 500000))
for ((i = 0; i < all; i++)); do
  answered &
done
wait
now; echo "requests $((at - begin))"
