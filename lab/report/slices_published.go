package report

// slicesSource says where the figures below are from, and what they are.
const slicesSource = "Kernel-Level Per-Slice UPF Latency Measurement in Containerised 5G Core Networks, tables II and III: Open5GS v2.7.6 (TUN), " +
	"one container for each slice, UERANSIM, Xeon Gold 5218R, 600 s, uplink, once. Packets were paired with the nearest in time within 10 ms, " +
	"and requests that took 200 µs at most were called modifications. Another machine and another method: for orientation, not for comparison."

// publishedDelay is one row of table II.
type publishedDelay struct {
	slice, load string
	n           uint64
	p50, p99    int64 // µs
}

var publishedDelays = []publishedDelay{
	{"eMBB", "light", 281_428, 66, 574}, {"eMBB", "medium", 1_126_235, 38, 325}, {"eMBB", "heavy", 2_814_633, 30, 1243},
	{"URLLC", "light", 3_624, 77, 517}, {"URLLC", "medium", 7_302, 61, 314}, {"URLLC", "heavy", 14_592, 63, 404},
	{"mMTC", "light", 4_655_720, 23, 2533}, {"mMTC", "medium", 10_722_385, 21, 1934}, {"mMTC", "heavy", 9_188_335, 22, 2401},
}

// publishedOf returns the row of a slice at a load; nil: there is none.
func publishedOf(slice, load string) *publishedDelay {
	for i := range publishedDelays {
		if p := &publishedDelays[i]; p.slice == slice && p.load == load {
			return p
		}
	}
	return nil
}

// publishedN4 is one row of table III.
type publishedN4 struct {
	n         uint64
	mean, p99 int64 // µs
}

var publishedN4s = map[string]publishedN4{"light": {41, 125, 197}, "medium": {36, 115, 199}, "heavy": {66, 142, 197}}
