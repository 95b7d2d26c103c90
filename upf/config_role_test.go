package upf

import (
	"strings"
	"testing"
)

// TestConfigRole: a key of another process of the UPF is a mistake, with its line
// and the command that it is of.
func TestConfigRole(t *testing.T) {
	const (
		single = "n3: {device: a, address: 10.3.0.1}\nn6: {device: b}\n"
		n4     = "n4: {address: 10.4.0.1}\n"
		bus    = "bus:\n  redis: {address: 127.0.0.1:6379}\n"
		agents = "datapath: agents\n" + n4 + bus + "  agents: [{name: one, gtpu: [{name: n3, address: 10.3.0.1}]}]\n"
		agent  = single + bus + "  agent: one\n"
	)
	for _, tc := range []struct{ name, file, want string }{
		{"plumb upf", single + n4, ""},
		{"plumb upf, defaults of others", single + n4 + "bus: {timeout: 2s, agents: []}\n", ""},
		{"plumb n4", agents, ""},
		{"plumb n4, defaults of others", agents + "xdp: {mode: auto, pin: \"\"}\ngtpu: []\nmeter_burst: 250ms\n", ""},
		{"plumb datapath", agent, ""},
		{"plumb datapath, its own", agent + "xdp: {pin: /sys/fs/bpf/x}\nbuffer: {packets: 3}\nmeter_burst: 10ms\n", ""},
		{"plumb upf, bus", single + n4 + "bus:\n  timeout: 3s\n",
			"x:5:12: bus.timeout: does nothing in a configuration of 'plumb upf': it is of 'plumb n4'"},
		{"plumb upf, agent of a slice", single + n4 + "slices:\n  - name: a\n    agent: one\n", `x:6:12: slices[0].agent: "one": want none`},
		{"plumb n4, pin", agents + "xdp:\n  pin: /sys/fs/bpf/x\n",
			"x:7:8: xdp.pin: does nothing in a configuration of 'plumb n4': it is of 'plumb upf' and 'plumb datapath'"},
		{"plumb n4, buffer", agents + "buffer: {packets: 3}\n", "x:6:19: buffer.packets: does nothing"},
		{"plumb n4, N6", agents + "n6: {device: b}\n", "x:6:14: n6.device: does nothing"},
		{"plumb n4, policy", agents + "forwarding_policies: [{name: a, dscp: 10}]\n", "x:6:22: forwarding_policies: does nothing"},
		{"plumb datapath, pool", agent + "pools: [{name: a, prefixes: [10.9.0.0/16]}]\n",
			"x:6:8: pools: does nothing in a configuration of 'plumb datapath': it is of 'plumb upf' and 'plumb n4'"},
		{"plumb datapath, N4", agent + "n4: {address: 10.4.0.1}\n", "n4.address: does nothing"},
		{"plumb datapath, store", agent + "store: {path: /var/x}\n", "store.path: does nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Parse("x", []byte(tc.file))
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
