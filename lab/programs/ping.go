package programs

import (
	"bytes"
	"net/netip"
	"regexp"
	"strconv"
	"testing"
)

// Answers is how many echo requests [Ping] has answered at least: some more if they
// were answered at once.
const Answers = 5

var received = regexp.MustCompile(`packets transmitted, (\d+) received`)

// Ping sends echo requests with a payload of size octets from a namespace, until
// [Answers] were answered. (Without a deadline ping waits for the last answer no
// longer than twice the longest round trip so far: too short on a busy machine.)
// ping itself compares payloads. flags are more of ping's.
func Ping(t testing.TB, namespace string, to netip.Addr, size int, flags ...string) {
	t.Helper()
	const deadlineS = 20
	args := []string{"ping", "-n", "-i", "0.01", "-c", strconv.Itoa(Answers), "-w", strconv.Itoa(deadlineS), "-s", strconv.Itoa(size)}
	out := Output(t, namespace, append(append(args, flags...), to.String())...)
	answered := 0
	if m := received.FindSubmatch(out); m != nil {
		answered, _ = strconv.Atoi(string(m[1])) // digits
	}
	if answered < Answers || bytes.Contains(out, []byte("wrong data")) {
		t.Errorf("ping %v in %s:\n%s", to, namespace, out)
	}
}
