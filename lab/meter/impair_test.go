package meter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

//go:generate go tool bpf2go -cc clang-19 -target bpfel -go-package meter -output-suffix _test -type impairment impair testdata/impair.bpf.c -- -O2 -g -Wall -Wextra -Werror -Wshadow -mcpu=v3 -I../../bpf/include -I../../bpf/lab -I/usr/include/x86_64-linux-gnu

// TestImpaired sends frames past a program that harms exactly one in a hundred,
// and wants to read exactly that and nothing else.
func TestImpaired(t *testing.T) {
	const frames = 20_000
	const octets = 14 + 20 + 8 + 16 + 20 + 8 + 64
	whole := Stream{Received: frames, ReceivedOctets: frames * octets}
	for _, tc := range []struct {
		name string
		harm impairImpairment
		want func(*Stream)
	}{
		{"nothing", impairImpairmentNOTHING, func(*Stream) {}},
		{"loss", impairImpairmentLOSS, func(s *Stream) {
			s.Received -= frames / 100
			s.ReceivedOctets -= frames / 100 * octets
		}},
		{"duplicate", impairImpairmentDUPLICATE, func(s *Stream) { s.Duplicated = frames / 100 }},
		{"swap", impairImpairmentSWAP, func(s *Stream) { s.Reordered = frames / 100 }},
		{"wrong TEID", impairImpairmentWRONG_TEID, func(s *Stream) { s.Misdelivered[TEID] = frames / 100 }},
		{"wrong UE", impairImpairmentWRONG_UE, func(s *Stream) { s.Misdelivered[UE] = frames / 100 }},
		{"wrong QFI", impairImpairmentWRONG_QFI, func(s *Stream) { s.Misdelivered[QFI] = frames / 100 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, topology.Config{Name: "plt-impaired"}, generator.Config{
				Direction: generator.Uplink, PayloadOctets: 64, Sessions: sessions(1000, false), Access: generator.Uniform,
			}, Config{Bed: true})
			impair(t, r.bed, tc.harm, 100)
			result, err := r.generator.Run(context.Background(), generator.Load{Rate: 200_000, Frames: frames, CPU: -1})
			if err != nil || result.Sent != frames {
				t.Fatalf("sent %d of %d frames: %v", result.Sent, frames, err)
			}
			want := whole
			tc.want(&want)
			got := r.read(t, 0, want.Received+want.Duplicated)
			if diff := cmp.Diff(want, got, ignoreTimes); diff != "" {
				t.Errorf("stream (-want +got):\n%s", diff)
			}
			if n := got.FromIntended.TotalCount(); n != int64(want.Received) {
				t.Errorf("latencies: got %d, want %d", n, want.Received)
			}
		})
	}
}

// TestGap stops sending for a while, and wants to read for how long nothing came.
func TestGap(t *testing.T) {
	r := newRig(t, topology.Config{Name: "plt-gap"}, generator.Config{
		Direction: generator.Uplink, PayloadOctets: 64, Sessions: sessions(1, false),
	}, Config{Bed: true})
	impair(t, r.bed, impairImpairmentNOTHING, 100)
	const pause = 300 * time.Millisecond
	for range 2 {
		before := time.Now()
		for _, wait := range []time.Duration{pause, 0} {
			if _, err := r.generator.Run(context.Background(), generator.Load{Rate: 10_000, Frames: 500, CPU: -1}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
		}
		got := r.read(t, 0, 1000)
		gap := time.Duration(got.GapNs)
		if gap < pause || gap > time.Since(before) || got.GapEndNs <= got.FirstNs+got.GapNs || got.GapEndNs > got.LastNs {
			t.Errorf("got a gap of %v that ended %v after the first arrival, want %v", gap, time.Duration(got.GapEndNs-got.FirstNs), pause)
		}
		next, err := r.generator.Sequences()
		if err == nil {
			err = r.meter.ResetFrom(next...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ignoreTimes leaves what depends on when frames arrived out of a comparison.
var ignoreTimes = cmpopts.IgnoreFields(Stream{}, "FirstNs", "LastNs", "LeastNs", "MostNs", "FromIntended", "FromSent", "Followed", "VariationSumNs", "GapNs", "GapEndNs")

// read returns a stream once so many frames have arrived, or after 30 s.
func (r *rig) read(t *testing.T, stream int, arrivals uint64) Stream {
	t.Helper()
	var got Stream
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		s, err := r.meter.Read()
		if err != nil {
			t.Fatal(err)
		}
		got = s.Streams[stream]
		if got.Received+got.Duplicated+got.Stale >= arrivals {
			break
		}
	}
	return got
}

// impair puts the impairing program in the UPF's place.
func impair(t *testing.T, bed *topology.Topology, harm impairImpairment, every uint32) {
	t.Helper()
	spec, err := loadImpair()
	if err != nil {
		t.Fatal(err)
	}
	device := uint32(bed.N6.UPF.Index)
	var objects impairObjects
	err = errors.Join(
		spec.Variables["device"].Set(device),
		spec.Variables["chosen"].Set(uint32(harm)),
		spec.Variables["every"].Set(every),
		spec.LoadAndAssign(&objects, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { objects.Close() })
	err = bed.UPF.Do(func() error {
		return errors.Join(objects.Twice.Put(uint32(0), device), objects.Twice.Put(uint32(1), device))
	})
	if err != nil {
		t.Fatal(err)
	}
	n3, err := bed.N3.UPF.AttachXDP(objects.Impair)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n3.Close() })
}
