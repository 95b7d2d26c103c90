package stopwatch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Bucket is how many values there are from Low to below High.
type Bucket struct {
	Low, High int64 // ns
	Count     uint64
}

// Distribution is a distribution of nanoseconds, possibly negative. Its JSON has the usual
// percentiles in addition to the buckets. A nil Distribution is empty.
type Distribution struct {
	Count    uint64
	Sum      int64
	Min, Max int64
	Buckets  []Bucket // ascending, without empty ones
}

func (d *Distribution) add(b Bucket) {
	d.Buckets = append(d.Buckets, b)
	d.Count += b.Count
}

// Total is how many values there are.
func (d *Distribution) Total() uint64 {
	if d == nil {
		return 0
	}
	return d.Count
}

// Mean is the mean, 0 of no values.
func (d *Distribution) Mean() time.Duration {
	if d.Total() == 0 {
		return 0
	}
	return time.Duration(math.Round(float64(d.Sum) / float64(d.Count)))
}

// Quantile is the value that the part q (0 to 1) of the values does not exceed: 0.4 %
// off at most. 0 is the smallest and 1 the largest value, exactly; of no values it is 0.
func (d *Distribution) Quantile(q float64) time.Duration {
	switch {
	case d.Total() == 0:
		return 0
	case q <= 0:
		return time.Duration(d.Min)
	case q >= 1:
		return time.Duration(d.Max)
	}
	rank := uint64(math.Ceil(q * float64(d.Count)))
	for _, b := range d.Buckets {
		if rank <= b.Count {
			return time.Duration(min(max(b.Low+(b.High-b.Low)/2, d.Min), d.Max))
		}
		rank -= b.Count
	}
	return time.Duration(d.Max)
}

// Below is how many values are below a limit; those of the bucket that the limit is in
// are not.
func (d *Distribution) Below(limit time.Duration) uint64 {
	if d == nil {
		return 0
	}
	n := uint64(0)
	for _, b := range d.Buckets {
		if b.High <= int64(limit) {
			n += b.Count
		}
	}
	return n
}

// Merge is both together. Neither changes.
func (d *Distribution) Merge(other *Distribution) *Distribution {
	if d.Total() == 0 || other.Total() == 0 {
		return cmp.Or(d, other)
	}
	sum := &Distribution{Sum: d.Sum + other.Sum, Min: min(d.Min, other.Min), Max: max(d.Max, other.Max)}
	sum.combine(d.Buckets, other.Buckets, func(a, b uint64) uint64 { return a + b })
	return sum
}

// since is what d has more than earlier had, nil if nothing. Min and Max are those of
// the buckets then.
func (d *Distribution) since(earlier *Distribution) *Distribution {
	if earlier.Total() == 0 || d.Total() == 0 {
		return d
	}
	more := &Distribution{Sum: d.Sum - earlier.Sum}
	more.combine(d.Buckets, earlier.Buckets, func(a, b uint64) uint64 { return a - min(a, b) })
	if more.Count == 0 {
		return nil
	}
	more.Min = max(d.Min, more.Buckets[0].Low)
	more.Max = min(d.Max, more.Buckets[len(more.Buckets)-1].High-1)
	return more
}

// combine adds what of makes of the counts of two lists, bucket by bucket.
func (d *Distribution) combine(a, b []Bucket, of func(a, b uint64) uint64) {
	for len(a) > 0 || len(b) > 0 {
		var one Bucket
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Low < b[0].Low:
			one, a = Bucket{a[0].Low, a[0].High, of(a[0].Count, 0)}, a[1:]
		case len(a) == 0 || b[0].Low < a[0].Low:
			one, b = Bucket{b[0].Low, b[0].High, of(0, b[0].Count)}, b[1:]
		default:
			one, a, b = Bucket{a[0].Low, a[0].High, of(a[0].Count, b[0].Count)}, a[1:], b[1:]
		}
		if one.Count > 0 {
			d.add(one)
		}
	}
}

// distributionJSON is a Distribution in a file.
type distributionJSON struct {
	Count   uint64      `json:"count"`
	Min     int64       `json:"min_ns"`
	Mean    int64       `json:"mean_ns"`
	P1      int64       `json:"p1_ns"`
	P50     int64       `json:"p50_ns"`
	P90     int64       `json:"p90_ns"`
	P99     int64       `json:"p99_ns"`
	P999    int64       `json:"p999_ns"`
	Max     int64       `json:"max_ns"`
	Sum     int64       `json:"sum_ns"`
	Buckets []jsonTuple `json:"buckets"` // low, high (exclusive), count
}

type jsonTuple [3]int64

// MarshalJSON implements [json.Marshaler].
func (d *Distribution) MarshalJSON() ([]byte, error) {
	out := distributionJSON{
		Count: d.Count, Min: d.Min, Mean: int64(d.Mean()), P1: int64(d.Quantile(0.01)), P50: int64(d.Quantile(0.5)), P90: int64(d.Quantile(0.9)),
		P99: int64(d.Quantile(0.99)), P999: int64(d.Quantile(0.999)), Max: d.Max, Sum: d.Sum, Buckets: make([]jsonTuple, len(d.Buckets)),
	}
	for i, b := range d.Buckets {
		out.Buckets[i] = jsonTuple{b.Low, b.High, int64(b.Count)}
	}
	return json.Marshal(out)
}

// UnmarshalJSON implements [json.Unmarshaler]. The buckets say what the percentiles
// are.
//
// Errors: buckets that are empty, out of order or not of as many values as the count.
func (d *Distribution) UnmarshalJSON(b []byte) error {
	var in distributionJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*d = Distribution{Sum: in.Sum, Min: in.Min, Max: in.Max}
	for _, t := range in.Buckets {
		one := Bucket{t[0], t[1], uint64(t[2])}
		if t[2] <= 0 || one.High <= one.Low || len(d.Buckets) > 0 && one.Low < d.Buckets[len(d.Buckets)-1].High || uint64(t[2]) > in.Count-d.Count {
			return fmt.Errorf("stopwatch: bucket %v after %d values of %d: want low, high and a count, ascending", t, d.Count, in.Count)
		}
		d.add(one)
	}
	if d.Count != in.Count || d.Count == 0 || d.Min > d.Max {
		return fmt.Errorf("stopwatch: buckets of %d values from %d to %d ns, count is %d", d.Count, d.Min, d.Max, in.Count)
	}
	return nil
}
