# Runs on a node. Seals it where asked, then looks from the node and from its witness pod at what both must reach, again
# and again until nothing is missing or the time is up. Prints what is missing, one line each, then "witness" and the
# witness pod's address, then "end". Needs bash, coreutils, iproute2, procps and util-linux, as every kind node has them.
#
# usage: probe.sh SECONDS sealed|open SERVICE_SUBNET API_IP DNS_IP DNS_ANSWER [POD_IP...]
export LC_ALL=C
limit=$1 egress=$2 subnet=$3
shift 3

# seal takes away every way off this machine. The file tells holdfast's own network agent to keep it so.
seal() {
	mkdir -p /etc/holdfast && touch /etc/holdfast/no-egress
	[[ -n $(ip -4 route show "$subnet") ]] || ip -4 route add "$subnet" dev eth0
	while ip -4 route del default; do :; done
}

# look prints the targets that answered. It is given to a fresh bash, which can be timed out and put into a pod's network.
# It asks for kube-dns itself: bash ends a datagram at each 0x0a, and no label of this name is ten characters long.
look='
api=$1 dns=$2 answer=$3
shift 3
question="\x68\x66\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08kube-dns\x0bkube-system\x03svc\x07cluster\x05local\x00\x00\x01\x00\x01"
( exec 3<>"/dev/tcp/$api/443" && echo "Service $api:443" ) &
( exec 3<>"/dev/udp/$dns/53" && printf "$question" >&3 &&
	[[ $(dd bs=512 count=1 status=none <&3 | od -An -v -tx1 | tr -d " \n") == *"$answer"* ]] && echo "DNS at $dns:53" ) &
for pod; do
	# Nothing listens there. A refusal comes from the pod itself, and that is the answer.
	( err=$( { exec 3<>"/dev/tcp/$pod/1"; } 2>&1 ); [[ $err == *refused* ]] && echo "pod $pod" ) &
done
wait
'

# missing prints what was not among the answers: VIEW ANSWERS, then the targets as the script was given them.
missing() {
	local view=$1 answers=$'\n'$2$'\n' api=$3 dns=$4 target
	shift 5
	for target in "Service $api:443" "DNS at $dns:53" "${@/#/pod }"; do
		[[ $answers == *$'\n'$target$'\n'* ]] || echo "$target not reachable from the $view"
	done
}

# round prints what is missing now, and the line about the witness pod.
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
