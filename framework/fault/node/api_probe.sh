# Runs on a node. Asks the API server by several ways, again and again, each on its own and each time on a new connection,
# until a file called stop appears in its folder or the time is up. Prints a line for each answer: the way, when it was asked and
# when it had answered, in microseconds, and the status, 000 for none; and at last what ended it. What it asks for is its own
# Node: an API server reads that from etcd, by a majority of its members, and a kubelet's certificate may read it. One way, called
# control, leads to the kubelet of the node itself: when that does not answer either, it is this node that is too busy to ask.
# Needs bash, coreutils and curl, as every kind node has them.
#
# usage: api_probe.sh FOLDER SECONDS EVERY_SECONDS WAIT_SECONDS WAY=URL...
export LC_ALL=C
folder=$1 seconds=$2 every=$3 wait=$4
shift 4
pem=/var/lib/kubelet/pki/kubelet-client-current.pem

ask() {
	local way=$1 url=$2 asked status
	while [[ ! -e $folder/stop && SECONDS -lt seconds ]]; do
		asked=${EPOCHREALTIME/./}
		status=$(curl --silent --output /dev/null --noproxy '*' --max-time "$wait" --write-out '%{http_code}' \
			--cacert /etc/kubernetes/pki/ca.crt --cert "$pem" --key "$pem" "$url")
		echo "$way $asked ${EPOCHREALTIME/./} $status"
		sleep "$every"
	done
}

for target; do
	ask "${target%%=*}" "${target#*=}" &
done
wait
if [[ -e $folder/stop ]]; then echo "end asked to"; else echo "end of its time"; fi
