package session

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordGolden: records that an earlier version wrote read as they did, and are
// written the same. Each is followed by what the version read that wrote it; a field
// that came later is 0. None of them is ever made anew.
func TestRecordGolden(t *testing.T) {
	f, err := os.Open("testdata/records.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	n := 0
	for ; lines.Scan(); n++ {
		b, err := hex.DecodeString(lines.Text())
		if err != nil || !lines.Scan() {
			t.Fatalf("record %d: %v", n, err)
		}
		want := new(Session)
		if err := json.Unmarshal(lines.Bytes(), want); err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		got, err := fromRecord(want.SEID, b)
		if err != nil {
			t.Fatalf("record %d: %v", n, err)
		}
		if d := cmp.Diff(want, got, equal); d != "" {
			t.Errorf("record %d (-want +got):\n%s", n, d)
		}
		if again := record(want); !bytes.Equal(again, b) {
			t.Errorf("record %d: written as\n%x, want\n%x", n, again, b)
		}
	}
	if err := lines.Err(); err != nil || n < 10 {
		t.Errorf("%d records, %v", n, err)
	}
}
