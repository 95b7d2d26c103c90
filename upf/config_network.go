package upf

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// GTPU is one more place where GTP-U is terminated, beside N3: N9 towards other
// UPFs, or S1-U and S5/S8-U of an SGW-U or PGW-U.
type GTPU struct {
	Name   string `yaml:"name" json:"name"`     // "n9", in logs, metrics and the API
	Device string `yaml:"device" json:"device"` // may be that of another endpoint
	// Address and Address6 are those of the F-TEIDs; UDP port 2152.
	Address  netip.Addr `yaml:"address" json:"address"`
	Address6 netip.Addr `yaml:"address6" json:"address6"` // IPv6; not valid: none
	VLAN     int        `yaml:"vlan" json:"vlan"`         // VID of the tag of its frames on the device; 0: untagged
	// Interface is the Source Interface of PDRs whose F-TEID is chosen here,
	// unless a Network Instance decides: InterfaceAccess or InterfaceCore.
	Interface string `yaml:"interface" json:"interface"`
	// InterfaceTypes are the 3GPP Interface Types of PDIs whose F-TEID is chosen here,
	// before Network Instance and Source Interface; empty: any.
	InterfaceTypes []InterfaceType `yaml:"interface_types" json:"interface_types"`
	// NetworkInstances are those of PDIs whose F-TEID is chosen here.
	NetworkInstances []string `yaml:"network_instances" json:"network_instances"`
}

// Values of [GTPU.Interface].
const (
	InterfaceAccess = "access"
	InterfaceCore   = "core"
)

// Pool is where the UPF takes UE addresses from, if the CP function asks it to.
type Pool struct {
	// Name is the UE IP Address Pool Identity of TS 29.244 V18.6.0, 8.2.128.
	Name     string         `yaml:"name" json:"name"`
	Prefixes []netip.Prefix `yaml:"prefixes" json:"prefixes"` // IPv4, and IPv6 out of which each UE gets a /64
}

// Slice is a network slice, or a part of one: S-NSSAI and DNN, and what belongs
// to it here. A session is of the first slice whose conditions it meets.
type Slice struct {
	Name             string   `yaml:"name" json:"name"` // in metrics and the API
	SNSSAI           SNSSAI   `yaml:"s_nssai" json:"s_nssai"`
	DNNs             []string `yaml:"dnns" json:"dnns"`                           // empty: any
	NetworkInstances []string `yaml:"network_instances" json:"network_instances"` // empty: any
	Pools            []string `yaml:"pools" json:"pools"`                         // names, in the order in which they are tried
	// UplinkMBR and DownlinkMBR are what all sessions of the slice may have
	// together; 0: not limited.
	UplinkMBR   BitRate `yaml:"uplink_mbr" json:"uplink_mbr"`
	DownlinkMBR BitRate `yaml:"downlink_mbr" json:"downlink_mbr"`
	MaxSessions int     `yaml:"max_sessions" json:"max_sessions"` // 0: those of the UPF
	Agent       string  `yaml:"agent" json:"agent"`               // name of the datapath agent; "": any
}

// Store is what outlives the process: sessions, associations, PFDs.
type Store struct {
	// Path is the directory of the embedded store, absolute; empty: none.
	Path string `yaml:"path" json:"path"`
	// Sync is when the embedded store is forced to disk: SyncNone, SyncInterval
	// (once a second) or SyncAlways. The end of the process costs nothing with
	// any of them; they are about the end of the machine.
	Sync  string `yaml:"sync" json:"sync"`
	Redis Redis  `yaml:"redis" json:"redis"` // instead of Path
	// AfterReboot is what becomes of sessions when the machine was started anew:
	// RebootRestore or RebootForget.
	AfterReboot string `yaml:"after_reboot" json:"after_reboot"`
}

// Values of [Store.Sync] and [Store.AfterReboot].
const (
	SyncNone     = "none"
	SyncInterval = "interval"
	SyncAlways   = "always"

	RebootRestore = "restore"
	RebootForget  = "forget"
)

// Redis is a Redis or Valkey server.
type Redis struct {
	Address      string `yaml:"address" json:"address"` // HOST:PORT, or the absolute path of a Unix socket; empty: none
	Username     string `yaml:"username" json:"username"`
	PasswordFile string `yaml:"password_file" json:"password_file"` // the password is its first line
	TLS          bool   `yaml:"tls" json:"tls"`
	CAFile       string `yaml:"ca_file" json:"ca_file"` // PEM certificates that sign the server's; empty: the machine's
	Prefix       string `yaml:"prefix" json:"prefix"`   // of all keys
}

// SNSSAI is a Single Network Slice Selection Assistance Information; as text
// "SST" or "SST-SD", SST decimal and SD six hex digits: "1-0a0b0c". The zero
// value is none. Source: TS 23.003 V18, 28.4.2.
type SNSSAI struct {
	SST uint8
	SD  uint32 // 24 bits; NoSD: none
	Set bool
}

// NoSD is the Slice Differentiator of an S-NSSAI that has none.
// Source: TS 23.003 V18, 28.4.2.
const NoSD = 0xffffff

// UnmarshalText reads "1" or "1-0a0b0c"; nothing: none.
func (s *SNSSAI) UnmarshalText(text []byte) error {
	*s = SNSSAI{}
	if len(text) == 0 {
		return nil
	}
	sst, sd, found := strings.Cut(string(text), "-")
	n, err := strconv.ParseUint(sst, 10, 8)
	if err != nil {
		return fmt.Errorf("S-NSSAI %q: SST: %w", text, err)
	}
	*s = SNSSAI{SST: uint8(n), SD: NoSD, Set: true}
	if !found {
		return nil
	}
	d, err := strconv.ParseUint(sd, 16, 24)
	if err != nil || len(sd) != 6 {
		return fmt.Errorf("S-NSSAI %q: SD %q: want six hex digits", text, sd)
	}
	s.SD = uint32(d)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (s SNSSAI) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String is the text form.
func (s SNSSAI) String() string {
	switch {
	case !s.Set:
		return ""
	case s.SD == NoSD:
		return strconv.Itoa(int(s.SST))
	}
	return fmt.Sprintf("%d-%06x", s.SST, s.SD)
}

// BitRate is bit/s; as text a number with or without one of the units kbit/s,
// Mbit/s and Gbit/s (powers of 1000).
type BitRate uint64

var bitRateUnits = []struct {
	name string
	bps  float64
}{{"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"bit/s", 1}}

// maxBitRate is what 40 bits of kbit/s hold. Source: TS 29.244 V18.6.0, 8.2.8.
const maxBitRate = (1<<40 - 1) * 1e3

// UnmarshalText reads "600Mbit/s", "1.5 Gbit/s" or "64000".
func (r *BitRate) UnmarshalText(text []byte) error {
	number, unit := string(text), 1.0
	for _, u := range bitRateUnits {
		if s, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(s), u.bps
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0 && v*unit <= maxBitRate) {
		return fmt.Errorf("bit rate %q: want a number with kbit/s, Mbit/s or Gbit/s", text)
	}
	*r = BitRate(v*unit + 0.5)
	return nil
}

// MarshalText writes bit/s.
func (r BitRate) MarshalText() ([]byte, error) { return strconv.AppendUint(nil, uint64(r), 10), nil }

// Duration is a time span; as text what [time.ParseDuration] reads: "30s".
type Duration time.Duration

// UnmarshalText reads "30s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration: %w", err)
	}
	*d = Duration(v)
	return nil
}

// MarshalText is the inverse of UnmarshalText.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
