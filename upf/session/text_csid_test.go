package session

import "testing"

// TestFQCSIDText: each kind of node.
func TestFQCSIDText(t *testing.T) {
	for _, tc := range []struct {
		in   FQCSID
		want string
	}{
		{FQCSID{IDType: 0, Node: [16]byte{10, 4, 0, 2}, CSID: 17}, "10.4.0.2/17"},
		{FQCSID{IDType: 1, Node: [16]byte{0x20, 1, 0xd, 0xb8, 15: 5}, CSID: 1}, "2001:db8::5/1"},
		{FQCSID{IDType: 2, Node: [16]byte{0x3f, 0xf7, 0x10, 0x05}, CSID: 65535}, "262-01-5/65535"},
	} {
		if got := tc.in.String(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
	}
}
