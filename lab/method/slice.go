package method

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/lab/system"
	"github.com/plumbline-upf/plumbline/lab/traffic"
)

// Slice is a part of the sessions, and what is sent to and from their UEs.
type Slice struct {
	Name   string  `yaml:"name"`
	Share  float64 `yaml:"share"`  // of what all slices send, in relation to the shares of the others; 0: 1
	Frames string  `yaml:"frames"` // octets or imix, as of cells; empty: as the cell says
	QFI    uint8   `yaml:"qfi"`    // of the sessions, in their rules and in N3's headers; 0: [system.QFI] and the slice's number
	DSCP   uint8   `yaml:"dscp"`   // of the user packets
}

// Bounds of slices.
const (
	MaxProfiledSlices = 16 // that are not all the same
	maxSliceName      = 40 // characters
	maxShare          = 1e9
	maxSixBits        = 63 // of a QFI, and of a DSCP
)

// EqualSlices are n slices that send the same.
func EqualSlices(n int) []Slice {
	list := make([]Slice, n)
	for i := range list {
		list[i].Name = fmt.Sprintf("slice %d", i+1)
	}
	return list
}

// LoadSlices reads slices from a YAML file: a list of their names, shares, frames, QFIs and
// DSCPs. The first one is that which is overloaded.
func LoadSlices(name string) ([]Slice, error) {
	var file struct {
		Slices []Slice `yaml:"slices"`
	}
	err := yamltext.Load(name, &file, func(m *yamltext.Checks) { checkSlices(m, file.Slices) })
	if err != nil {
		return nil, err
	}
	return file.Slices, nil
}

// ParseSlice takes a name, and after a colon some of share=, frames=, qfi= and dscp=
// between commas: "video: share=3, frames=1518, qfi=5, dscp=34".
func ParseSlice(text string) (Slice, error) {
	name, rest, _ := strings.Cut(text, ":")
	s := Slice{Name: strings.TrimSpace(name)}
	for part := range strings.SplitSeq(rest, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		key, value, _ := strings.Cut(part, "=")
		if err := s.set(strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return s, fmt.Errorf("%q: %w", text, err)
		}
	}
	return s, s.validate()
}

func (s *Slice) set(key, value string) (err error) {
	switch key {
	case "share":
		if s.Share, err = strconv.ParseFloat(value, 64); err != nil {
			err = fmt.Errorf("share %q: want a number", value)
		}
	case "frames":
		s.Frames = value
	case "qfi":
		s.QFI, err = sixBits(value)
	case "dscp":
		s.DSCP, err = sixBits(value)
	default:
		err = fmt.Errorf("%q: want share, frames, qfi or dscp", key)
	}
	return err
}

func sixBits(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 6)
	if err != nil {
		return 0, fmt.Errorf("%q: want 0 to %d", text, maxSixBits)
	}
	return uint8(n), nil
}

func (s *Slice) validate() error {
	switch {
	case s.Name == "" || len([]rune(s.Name)) > maxSliceName || strings.ContainsFunc(s.Name, unicode.IsControl):
		return fmt.Errorf("slice %q: want a name of 1 to %d characters", s.Name, maxSliceName)
	case !(s.Share >= 0 && s.Share <= maxShare):
		return fmt.Errorf("slice %q: share %v: want more than 0, up to %g", s.Name, s.Share, maxShare)
	case s.QFI > maxSixBits || s.DSCP > maxSixBits:
		return fmt.Errorf("slice %q: QFI %d, DSCP %d: want %d at most", s.Name, s.QFI, s.DSCP, maxSixBits)
	case s.Frames == "":
		return nil
	}
	if _, err := traffic.ParseFrames(s.Frames); err != nil {
		return fmt.Errorf("slice %q: %w", s.Name, err)
	}
	return nil
}

// ValidateSlices says what is wrong with slices that somebody has described.
func ValidateSlices(list []Slice) error {
	var m yamltext.Checks
	checkSlices(&m, list)
	return m.Err(nil)
}

func checkSlices(m *yamltext.Checks, list []Slice) {
	if len(list) < 2 || len(list) > MaxProfiledSlices {
		m.Note("", "%d slices: want 2 to %d", len(list), MaxProfiledSlices)
		return
	}
	for i := range list {
		key := fmt.Sprintf("slices[%d]", i)
		m.Under(key, list[i].validate())
		if slices.ContainsFunc(list[:i], func(s Slice) bool { return s.Name == list[i].Name }) {
			m.Note(key+".name", "slice %q: there are two of this name", list[i].Name)
		}
	}
}

// SliceRules adds to rules that sessions are divided into these slices.
func SliceRules(list []Slice, r system.Rules) system.Rules {
	r.Slices = len(list)
	for i, s := range list {
		r.QFIs[i] = s.QFI
	}
	return r
}

// share is 1 of a slice that has none.
func (s *Slice) share() float64 {
	if s.Share == 0 {
		return 1
	}
	return s.Share
}

// String is the slice in words.
func (s Slice) String() string {
	words := []string{fmt.Sprintf("share %g", s.share())}
	if s.Frames != "" {
		words = append(words, "frames "+s.Frames)
	}
	if s.QFI != 0 {
		words = append(words, fmt.Sprintf("QFI %d", s.QFI))
	}
	if s.DSCP != 0 {
		words = append(words, fmt.Sprintf("DSCP %d", s.DSCP))
	}
	return s.Name + " (" + strings.Join(words, ", ") + ")"
}
