package netdev

import (
	"github.com/safchain/ethtool"
	"github.com/vishvananda/netlink"
)

// Queues returns how many queues of a device receive, and how many of these also send, at
// least one.
func Queues(a *netlink.LinkAttrs) (receive, both int) {
	receive, send := max(a.NumRxQueues, 1), max(a.NumTxQueues, 1) // as many as there may be
	if c, err := channels(a.Name); err == nil {
		receive, send = max(int(c.CombinedCount+c.RxCount), 1), max(int(c.CombinedCount+c.TxCount), 1)
	}
	return receive, min(receive, send)
}

func channels(device string) (ethtool.Channels, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return ethtool.Channels{}, err
	}
	defer tool.Close()
	return tool.GetChannels(device)
}

// StripsTags reports whether a device takes the outer tag off the frames that come, and keeps it
// beside them. err: it does not say.
func StripsTags(device string) (bool, error) {
	tool, err := ethtool.NewEthtool()
	if err != nil {
		return false, err
	}
	defer tool.Close()
	features, err := tool.Features(device)
	return features["rx-vlan-hw-parse"] || features["rx-vlan-stag-hw-parse"], err
}
