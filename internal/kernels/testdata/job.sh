# job.sh - what is run in each kernel: plumb and tests that were built by the host
#
# Each part stands between lines "part: NAME" and "part ends: NAME: exit code N, S s".
# PARTS names those that are run, in order.
part() {
	local started=$SECONDS status
	echo "part: $1"
	"part_$1" 2>&1
	status=$?
	echo
	echo "part ends: $1: exit code $status, $((SECONDS - started)) s"
}

part_programs() { /srv/plumb doctor --programs --json; }
part_conformance_xdp() { conformance TestConformance; }
part_conformance_tc() { conformance TestConformanceTC; }

# conformance TEST: the short table, each packet whole, against the model.
conformance() {
	mkdir -p /run/netns
	/srv/xdp.test -test.v -test.short -test.run "^$1\$" >/tmp/out
	local status=$?
	echo "passed $(grep -c -- '--- PASS' /tmp/out), failed $(grep -c -- '--- FAIL' /tmp/out), skipped $(grep -c -- '--- SKIP' /tmp/out)"
	[ $status -eq 0 ] || grep -B3 -A20 -- '--- FAIL' /tmp/out | head -n 60
	return $status
}

# bed: namespaces of a UE, a gNB, the UPF and a data network.
#
#   ue -- ue0 (TUN) -- plumb gnb -- n3 -- plumb upf -- n6 -- dn
bed() {
	local n
	for n in ue gnb upf dn; do
		ip netns add $n
		ip -n $n link set lo up
	done
	ip -n upf link add n3 type veth peer name n3 netns gnb
	ip -n upf link add n6 type veth peer name n6 netns dn
	ip -n gnb addr add 10.3.0.2/24 dev n3
	ip -n upf addr add 10.3.0.1/24 dev n3
	ip -n upf addr add 10.6.0.1/24 dev n6
	ip -n upf addr add fd06::1/64 dev n6 nodad
	ip -n dn addr add 10.6.0.2/24 dev n6
	ip -n dn addr add fd06::2/64 dev n6 nodad
	ip -n gnb link set n3 up
	ip -n upf link set n3 up
	ip -n upf link set n6 up
	ip -n dn link set n6 up
	ip -n dn route add 10.64.0.0/16 via 10.6.0.1
	ip -n dn route add fd64::/32 via fd06::1
	in_ns gnb ethtool -K n3 tx off gro on >/dev/null
	in_ns dn ethtool -K n6 tx off gro on >/dev/null
	in_ns upf sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
	cat >/tmp/gnb.yaml <<-'END'
		n3: {address: 10.3.0.2}
		ues:
		  - name: ue0
		    namespace: ue
		    addresses: [10.64.0.1, "fd64::1"]
		    downlink_teid: 1
		    qfi: 9
	END
}

in_ns() { nsenter --net="/run/netns/$1" -- "${@:2}"; }

# config DATAPATH [LINES]: the UPF's configuration.
config() {
	cat >/tmp/upf.yaml <<-END
		datapath: $1
		n4: {address: 10.3.0.1}
		n3: {device: n3, address: 10.3.0.1}
		n6: {device: n6, gateway: 10.6.0.2, gateway6: "fd06::2"}
		${2:-}
	END
}

# await SECONDS COMMAND...: until it succeeds.
await() {
	local end=$((SECONDS + $1))
	until "${@:2}" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}

came_up() { grep -q 'msg=up' /tmp/upf.log || ! kill -0 "$upf"; }

start_upf() {
	local started=$SECONDS
	nsenter --net=/run/netns/upf -- /srv/plumb upf --config /tmp/upf.yaml >>/tmp/upf.log 2>&1 &
	upf=$!
	await 600 came_up || true
	grep -q 'msg=up' /tmp/upf.log || {
		cat /tmp/upf.log
		return 1
	}
	echo "up after $((SECONDS - started)) s"
}

start_gnb() {
	nsenter --net=/run/netns/gnb -- /srv/plumb gnb --config /tmp/gnb.yaml --n4 10.3.0.1 >/tmp/gnb.log 2>&1 &
	gnb=$!
	await 120 in_ns ue ip addr show ue0 && await 120 in_ns ue ping -c 1 -W 1 10.6.0.2 || {
		cat /tmp/gnb.log /tmp/upf.log
		return 1
	}
}

# pings: both ways, IPv4 and IPv6: all of them have to come back.
pings() {
	local failed=0 ns address
	while read -r ns address; do
		in_ns "$ns" ping -q -c 3 -i 0.3 -W 2 "$address" >/tmp/ping || failed=1
		echo "$ns to $address: $(grep received /tmp/ping)"
		grep -q ' 0% packet loss' /tmp/ping || failed=1
	done <<-'END'
		ue 10.6.0.2
		ue fd06::2
		dn 10.64.0.1
		dn fd64::1
	END
	return $failed
}

end() {
	kill "$gnb" "$upf" 2>/dev/null
	wait
	local n
	for n in ue gnb upf dn; do ip netns delete $n; done
	rm -f /tmp/upf.log
	rm -rf /sys/fs/bpf/plumb /tmp/store
}

# A UPF by one datapath, a gNB and a UE: ping both ways.
datapath() {
	local status=0
	bed
	config "$1"
	start_upf && start_gnb && pings || status=1
	grep -o 'datapath=[a-z]*' /tmp/upf.log | tail -n 1
	end
	return $status
}

# auto takes what plumb doctor says is the best.
part_auto() {
	local status=0 best
	bed
	config auto
	best=$(in_ns upf /srv/plumb doctor --config /tmp/upf.yaml | awk '$1 == "runs" { print $2; exit }')
	start_upf && start_gnb && pings || status=1
	grep -o 'datapath=[a-z]*' /tmp/upf.log | tail -n 1
	grep -q "datapath=$best" /tmp/upf.log || {
		echo "plumb doctor says that $best is the best"
		status=1
	}
	end
	return $status
}
part_xdp() { datapath xdp; }
part_tc() { datapath tc; }
part_afxdp() { datapath afxdp; }
part_tun() { datapath tun; }
part_tap() { datapath tap; }

# kill -9 and a start over what is pinned, with the session from the store.
restart() {
	local status=0
	bed
	config "$1" "xdp: {pin: /sys/fs/bpf/plumb}
store: {path: /tmp/store}"
	mkdir -p /tmp/store
	start_upf && start_gnb || status=1
	kill -9 "$upf"
	wait "$upf" 2>/dev/null
	echo "while the UPF is gone:"
	pings || status=1
	: >/tmp/upf.log
	start_upf && pings || status=1
	end
	return $status
}
part_restart_xdp() { restart xdp; }
part_restart_tc() { restart tc; }

# A trace, the probe and moves, while packets flow.
part_tools() {
	local status=0 to
	bed
	config tc
	start_upf && start_gnb || status=1
	nsenter --net=/run/netns/ue -- ping -i 0.2 -w 100 10.6.0.2 >/dev/null 2>&1 &
	local traffic=$!
	in_ns upf /srv/plumb trace --all --count 4 --duration 60s >/tmp/trace 2>&1 || { status=1; cat /tmp/trace; }
	echo "trace: $(grep -c . /tmp/trace) lines"
	for to in afxdp tun tc; do
		in_ns upf /srv/plumb move $to >/tmp/move 2>&1 || { status=1; cat /tmp/move; }
		echo "moved to $to"
		pings || status=1
	done
	in_ns upf /srv/plumb probe --pid "$upf" --duration 5s >/tmp/probe 2>&1
	local probed=$?
	echo "probe: exit code $probed"
	kill $traffic
	[ $probed -eq 0 ] || { status=1; head -n 20 /tmp/probe; }
	end
	return $status
}

# The laboratory against our own UPF, and the gNB split by nFAPI.
part_bench() { /srv/plumb bench --direction uplink --sessions 1 --duration 1s --repeat 1; }

# Programs alone, with the harness that restores the packet subtracted.
part_count_programs() { /srv/xdp.test -test.run '^$' -test.bench '^Benchmark(Program|Enforce)$/^sessions=1$' -test.benchtime 5000x; }

# Frames through the test bed, and through the bed alone. Of the other datapaths the
# processes would have the one CPU in turn with the kernel, which says nothing.
part_count_frames() {
	local datapath
	mkdir -p /run/netns
	for datapath in xdp tc; do
		/srv/plumb bench --datapath $datapath --sessions 1 --duration 200ms --repeat 3 --json - 2>/tmp/bench.log || {
			cat /tmp/bench.log
			return 1
		}
	done
}

for p in $PARTS; do part "$p"; done
true
