package vnf

import (
	"net"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/plumbline-upf/plumbline/nfapi"
)

func TestMetrics(t *testing.T) {
	s := serve(t, func(c *Config) { c.Timeouts.Sync = -1 })
	u := connect(t, s)
	u.until(nfapi.MsgStartRequest)
	wait(t, "the phy runs", func() bool { return s.macs[1].counts().starts == 1 })
	u.slots(1, 100, 7)
	wait(t, "slots", func() bool { return s.macs[1].counts().slots == 7 })
	stranger, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for range 2 {
		if _, err := stranger.WriteToUDPAddrPort([]byte("of a stranger"), u.vnf[1]); err != nil {
			t.Fatal(err)
		}
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(s.VNF)
	text := func() string {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
				t.Fatal(err)
			}
		}
		return b.String()
	}
	for _, want := range []string{
		`nfapi_vnf_indications_total{message="CRC.indication",phy="1",pnf="one"} 6`,
		`nfapi_vnf_requests_total{message="UL_TTI.request",phy="1",pnf="one"} 7`,
		`nfapi_vnf_phy_running{phy="1",pnf="one"} 1`,
		`nfapi_vnf_pnf_connected{pnf="one"} 1`,
		`nfapi_vnf_slots_total{fate="scheduled",phy="1",pnf="one"} 7`,
		`nfapi_vnf_slots_total{fate="skipped",phy="1",pnf="one"} 0`,
		`nfapi_vnf_refused_connections_total 0`,
		`nfapi_vnf_p7_dropped_total{phy="1",pnf="one",reason="stranger"} 2`,
	} {
		wait(t, want, func() bool { return strings.Contains(text(), want+"\n") })
	}
}
