package upf

import (
	"net/http"

	"github.com/plumbline-upf/plumbline/datapath"
)

// Slices are the configured slices, and last what is in none of them.
type Slices struct {
	Slices []SliceState `json:"slices"`
}

// SliceState is what a slice has and did. The packets are those of its sessions,
// gone ones included, since the UPF started.
type SliceState struct {
	Name     string   `json:"name"`
	SNSSAI   string   `json:"s_nssai,omitempty"`
	DNNs     []string `json:"dnns,omitempty"`
	Sessions int      `json:"sessions"`
	Uplink   Usage    `json:"uplink"`
	Downlink Usage    `json:"downlink"`
}

// slices lists the slices in the order of the configuration.
func (a *localAPI) slices(*http.Request) (any, error) {
	return Slices{a.sliceStates()}, nil
}

// sliceStates lists the slices in the order of the configuration, and then what
// is in none.
func (s *Service) sliceStates() []SliceState {
	list := make([]SliceState, 0, len(s.config.Slices)+1)
	rest := s.sessions.Len()
	for i := range s.config.Slices {
		c := &s.config.Slices[i]
		n := s.sessions.SliceLen(uint32(i + 1))
		list = append(list, SliceState{Name: c.Name, SNSSAI: c.SNSSAI.String(), DNNs: c.DNNs, Sessions: n})
		rest -= n
	}
	list = append(list, SliceState{Name: noSlice, Sessions: max(rest, 0)})
	for _, t := range s.totals() {
		i := int(t.Slice) - 1 // number 0 is the last one
		if i < 0 {
			i = len(list) - 1
		}
		if i < len(list) {
			list[i].Uplink, list[i].Downlink = usageOf(t.Uplink), usageOf(t.Downlink)
		}
	}
	return list
}

func usageOf(t datapath.Total) Usage { return Usage{t.Packets, t.Octets, t.Dropped} }

// noSlice is the name of what belongs to no configured slice.
const noSlice = "none"
