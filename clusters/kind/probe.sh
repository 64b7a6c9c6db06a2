# Runs on a node. Seals the node if requested, then probes the targets from the node and from its witness pod, repeatedly
# until every target is reachable or the time limit has passed. Prints one line per problem, then "witness" and the address
# of the witness pod, then "end". Needs bash, coreutils, iproute2, procps and util-linux, which every kind node has.
#
# usage: probe.sh SECONDS sealed|open SERVICE_SUBNET API_IP DNS_IP DNS_ANSWER [POD_IP...]
export LC_ALL=C
limit=$1 egress=$2 subnet=$3
shift 3

# seal removes the default route. The file tells holdfast's own network agent to keep it removed.
seal() {
	mkdir -p /etc/holdfast && touch /etc/holdfast/no-egress
	[[ -n $(ip -4 route show "$subnet") ]] || ip -4 route add "$subnet" dev eth0
	while ip -4 route del default; do :; done
}

# look prints the targets that answered. It runs in a separate bash, to which a timeout and a pod's network can be applied.
# The DNS query is for the name of kube-dns, which contains no label of ten characters: bash splits a datagram at each 0x0a.
look='
api=$1 dns=$2 answer=$3
shift 3
question="\x68\x66\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08kube-dns\x0bkube-system\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01"
( exec 3<>"/dev/tcp/$api/443" && echo "Service $api:443" ) &
( exec 3<>"/dev/udp/$dns/53" && printf "$question" >&3 &&
	[[ $(dd bs=512 count=1 status=none <&3 | od -An -v -tx1 | tr -d " \n") == *"$answer"* ]] && echo "DNS at $dns:53" ) &
for pod; do
	# No process listens on this port: a refusal comes from the pod itself, and proves that the pod is reachable.
	( err=$( { exec 3<>"/dev/tcp/$pod/1"; } 2>&1 ); [[ $err == *refused* ]] && echo "pod $pod" ) &
done
wait
'

# missing prints the targets that did not answer. Arguments: VIEW ANSWERS, then the targets as passed to the script.
missing() {
	local view=$1 answers=$'\n'$2$'\n' api=$3 dns=$4 target
	shift 5
	for target in "Service $api:443" "DNS at $dns:53" "${@/#/pod }"; do
		[[ $answers == *$'\n'$target$'\n'* ]] || echo "$target not reachable from the $view"
	done
}

# round prints what is missing now, and the address of the witness pod.
round() {
	local pid ip=
	[[ $egress == sealed && -n $(ip -4 route show default) ]] && echo "still has a default route"
	missing node "$(timeout 2 bash -c "$look" look "$@" 2>/dev/null)" "$@"
	pid=$(pgrep -n -f '^/pause holdfast-witness')
	if [[ -n $pid ]]; then
		missing pods "$(timeout 2 nsenter --net="/proc/$pid/ns/net" bash -c "$look" look "$@" 2>/dev/null)" "$@"
		ip=$(nsenter --net="/proc/$pid/ns/net" ip -4 -o addr show scope global | awk '{ sub("/.*", "", $4); print $4; exit }')
	fi
	[[ -n $ip ]] || echo "its witness pod does not run"
	echo "witness $ip"
}

[[ $egress == sealed ]] && seal 2>/dev/null
while :; do
	lacking=$(round "$@")
	[[ $lacking == "witness "* || SECONDS -ge limit ]] && break
	sleep 0.2
done
echo "$lacking"
echo end
