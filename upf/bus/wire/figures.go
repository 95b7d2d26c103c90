package wire

import (
	"github.com/plumbline-upf/plumbline/datapath"
	"github.com/plumbline-upf/plumbline/datapath/api"
)

// SliceTotals are list as a message has them.
func SliceTotals(list []datapath.SliceTotal) []*api.SliceTotal {
	var all []*api.SliceTotal
	for _, t := range list {
		all = append(all, &api.SliceTotal{Slice: t.Slice, Uplink: total(t.Uplink), Downlink: total(t.Downlink)})
	}
	return all
}

func total(t datapath.Total) *api.Total {
	return &api.Total{Packets: t.Packets, Octets: t.Octets, Dropped: t.Dropped}
}

// SliceTotalsOf is the inverse of [SliceTotals].
func SliceTotalsOf(list []*api.SliceTotal) []datapath.SliceTotal {
	var all []datapath.SliceTotal
	for _, t := range list {
		all = append(all, datapath.SliceTotal{Slice: t.GetSlice(), Uplink: totalOf(t.GetUplink()), Downlink: totalOf(t.GetDownlink())})
	}
	return all
}

func totalOf(t *api.Total) datapath.Total {
	return datapath.Total{Packets: t.GetPackets(), Octets: t.GetOctets(), Dropped: t.GetDropped()}
}

// Buffered is b as a message has it.
func Buffered(b datapath.Buffered) *api.Buffered {
	return &api.Buffered{
		Sessions: uint64(b.Sessions), Packets: uint64(b.Packets), MaxPackets: uint64(b.MaxPackets),
		Octets: uint64(b.Octets), MaxOctets: uint64(b.MaxOctets),
	}
}

// BufferedOf is the inverse of [Buffered]; nil: not known.
func BufferedOf(b *api.Buffered) *datapath.Buffered {
	if b == nil {
		return nil
	}
	return &datapath.Buffered{
		Sessions: int(b.GetSessions()), Packets: int(b.GetPackets()), MaxPackets: int(b.GetMaxPackets()),
		Octets: int(b.GetOctets()), MaxOctets: int(b.GetMaxOctets()),
	}
}

// TableUse is list as a message has it.
func TableUse(list []datapath.TableUse) []*api.TableUse {
	var all []*api.TableUse
	for _, t := range list {
		all = append(all, &api.TableUse{Name: t.Name, Used: uint64(t.Used), Max: uint64(t.Max)})
	}
	return all
}

// TableUseOf is the inverse of [TableUse].
func TableUseOf(list []*api.TableUse) []datapath.TableUse {
	var all []datapath.TableUse
	for _, t := range list {
		all = append(all, datapath.TableUse{Name: t.GetName(), Used: int(t.GetUsed()), Max: int(t.GetMax())})
	}
	return all
}
