package search

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Both shapes lose nothing far below the rate, what is too much far above it, and more with
// every frame of load; where it is known, what plain formulas say.
func TestFits(t *testing.T) {
	for i, f := range fits {
		for _, spread := range []float64{10, 1000, 100_000} {
			const rate = 1_000_000
			last := math.Inf(-1)
			for load := 1000.0; load < 3*rate; load *= 1.01 {
				got := f(load, rate, spread)
				if math.IsNaN(got) || got <= last {
					t.Fatalf("fit %d, spread %v: got %v at %v after %v", i, spread, got, load, last)
				}
				last = got
			}
			if got := math.Exp(f(3*rate, rate, spread)); math.Abs(got-2*rate) > 0.001*rate {
				t.Errorf("fit %d, spread %v: got a loss rate of %v at three times the rate %v", i, spread, got, rate)
			}
			for _, ratio := range []float64{1e-7, 0.001, 0.5} {
				if spread == 100_000 && ratio == 1e-7 {
					continue // more is lost at any load
				}
				at := f.criticalLoad(rate, spread, ratio)
				if got := math.Exp(f(at, rate, spread)) / at; math.Abs(got/ratio-1) > 1e-6 {
					t.Errorf("fit %d, spread %v: got a loss ratio of %v at the critical load %v, want %v", i, spread, got, at, ratio)
				}
			}
		}
	}
	if got, want := math.Exp(stretch(90, 100, 10)), 10*(math.Log1p(math.Exp(-1))-math.Log1p(math.Exp(-10)))*(1+math.Exp(-10)); math.Abs(got-want) > 1e-9 {
		t.Errorf("stretch: got %v, want %v", got, want)
	}
	for _, u := range []float64{4.999, 5.001} { // where one formula ends and the other begins
		if got, want := logIerfc(u), math.Log(math.Exp(-u*u)/math.SqrtPi-u*math.Erfc(u)); math.Abs(got-want) > 0.001 {
			t.Errorf("logIerfc(%v): got %v, want %v", u, got, want)
		}
	}
}

// shaped is a system whose losses are just as one of the shapes has them.
type shaped struct {
	fit          fit
	rate, spread float64
	random       *rand.Rand
}

func (s *shaped) measure(_ context.Context, t Trial) (Outcome, error) {
	seconds := t.Duration.Seconds()
	sent := uint64(float64(t.Load) * seconds)
	mean := math.Exp(s.fit(float64(t.Load), s.rate, s.spread)) * seconds
	lost := uint64(max(0, math.Round(mean+math.Sqrt(mean)*s.random.NormFloat64())))
	if mean < 30 {
		lost = poisson(s.random, mean)
	}
	return Outcome{Intended: sent, Sent: sent, Received: sent - min(sent, lost)}, nil
}

func poisson(random *rand.Rand, mean float64) uint64 {
	n, p := uint64(0), random.Float64()
	for limit := math.Exp(-mean); p > limit; n++ {
		p *= random.Float64()
	}
	return n
}

// The estimate comes to the critical load of a system of either shape, and its deviation
// says about how near it is.
func TestSoakShaped(t *testing.T) {
	for i, f := range fits {
		for _, spread := range []float64{500, 20_000} {
			s := &shaped{fit: f, rate: 1_200_000, spread: spread, random: rand.New(rand.NewPCG(uint64(i), 7))}
			soak := Soak{Min: 1000, Max: 5_000_000, LossRatio: 1e-6, First: 5 * time.Second, Longer: 100 * time.Millisecond, Budget: 2 * time.Minute}
			r, err := soak.Search(context.Background(), s.measure)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("fit %d, spread %v: %+v, %+v, %d trials", i, spread, r.Load, r.Fits, len(r.Records))
			want := f.criticalLoad(s.rate, s.spread, soak.LossRatio)
			if !within(r.Fits[i].Mean, want, 0.01) || !within(r.Load.Mean, want, 0.05) {
				t.Errorf("fit %d, spread %v: got %+v, %+v of %d trials, want %v", i, spread, r.Load, r.Fits, len(r.Records), want)
			}
			if math.Abs(r.Load.Mean-want) > 3*r.Load.Deviation+1e-4*want {
				t.Errorf("fit %d, spread %v: got %+v, further than its deviation from %v", i, spread, r.Load, want)
			}
		}
	}
}

// A system that stalls now and then loses more than it may at any load: the estimate goes to
// where it does so least. One that does not, and varies a little, has it near its capacity.
func TestSoakCapacity(t *testing.T) {
	d := newDUT(800_000, 3)
	d.jitter = 0.002
	soak := Soak{Min: 1000, Max: 2_000_000, LossRatio: 1e-5, First: time.Second, Longer: 100 * time.Millisecond, Budget: time.Minute}
	r, err := soak.Search(context.Background(), d.measure)
	t.Logf("capacity: %+v, %+v, %d trials", r.Load, r.Fits, len(r.Records))
	if err != nil || !within(r.Load.Mean, d.capacity, 0.03) || r.Load.Mean > d.capacity {
		t.Errorf("got %+v, %+v, %v, want somewhat less than %v", r.Load, r.Fits, err, d.capacity)
	}
	always := newDUT(5_000_000, 1)
	if r, err = soak.Search(context.Background(), always.measure); err != nil || r.Load.Mean < 1_990_000 {
		t.Errorf("nothing lost at the highest load: got %+v, %v", r.Load, err)
	}
}

func TestSoakErrors(t *testing.T) {
	d := newDUT(800_000, 3)
	for _, s := range []Soak{
		{Max: 1, LossRatio: 0.1, First: 1, Budget: 1},
		{Min: 1, Max: 1, First: 1, Budget: 1},
		{Min: 1, Max: 1, LossRatio: 0.1, Budget: 1},
		{Min: 1, Max: 1, LossRatio: 0.1, First: 1},
	} {
		if _, err := s.Search(context.Background(), d.measure); err == nil || d.trials > 0 {
			t.Errorf("got no error for %+v", s)
		}
	}
}
