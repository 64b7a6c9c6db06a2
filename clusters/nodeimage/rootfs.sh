# A hook of mmdebstrap: $1 is the root file system. Packs the programs that kube-proxy calls into the archive $NETFILTER, if it is
# set, and removes what a node does not need.
set -eu
cd "$1"
if [ -n "${NETFILTER:-}" ]; then
  # xtables-nft-multi acts according to the name under which it is called, and loads its extensions by name.
  programs=$(ls usr/sbin/nft usr/sbin/conntrack usr/sbin/xtables-nft-multi usr/lib/*/xtables/*.so \
    usr/sbin/iptables usr/sbin/iptables-save usr/sbin/iptables-restore usr/sbin/ip6tables usr/sbin/ip6tables-save usr/sbin/ip6tables-restore)
  libraries=$(chroot . ldd $programs | sed -n 's,^.*[[:space:]]/\(.*\) (0x.*$,\1,p' | sort -u)
  # Without protocol names nft prints 6 for tcp. When kube-proxy restarts, it reads its old rules back in that form, takes them for
  # unknown rules and deletes them; the same deletion removes the rules that it has just written, because they are identical. From
  # then on no Service is reachable. Seen with v1.37.0 and v1.37.1 at every restart of kube-proxy.
  tar --create --file "$NETFILTER" --numeric-owner --dereference $programs $libraries etc/protocols
fi
# Settings of this machine, package lists and documentation.
rm -rf etc/resolv.conf etc/hostname etc/machine-id etc/apt/sources.list etc/apt/sources.list.d/* var/lib/apt/lists/* var/cache/* \
  var/log/* usr/share/doc/* usr/share/man/* usr/share/locale/* usr/share/info/*
# kind's Dockerfile removes all systemd units but its own: most of them do what only the host may do. systemd-tmpfiles-setup would
# empty /tmp and /run under kind.
cd usr/lib/systemd/system 2>/dev/null || exit 0 # the load balancer has no systemd
rm -rf ../../../../etc/systemd/system/*.wants/* multi-user.target.wants/* local-fs.target.wants/* basic.target.wants/* \
  sockets.target.wants/*udev* sockets.target.wants/*initctl* sysinit.target.wants/systemd-tmpfiles-setup.service
