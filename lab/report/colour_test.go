package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestColours: no two of the colours that series have look alike, light or dark. The
// distance is that of Oklab, in which equal ones look equally far; 0.02 can just be seen.
func TestColours(t *testing.T) {
	const least = 0.12
	light, dark, found := strings.Cut(labCSS, "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no dark colours")
	}
	dark, _, _ = strings.Cut(dark, ".s1 {")
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		colours := regexp.MustCompile(`--(s\d+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1)
		if len(colours) != maxSystemCSS {
			t.Fatalf("%s: %d colours, want %d", scheme, len(colours), maxSystemCSS)
		}
		for i, a := range colours {
			for _, b := range colours[:i] {
				if d := distance(oklab(t, a[2]), oklab(t, b[2])); d < least {
					t.Errorf("%s: %s and %s (#%s, #%s) are %.3f apart, want %v", scheme, b[1], a[1], b[2], a[2], d, least)
				}
			}
		}
	}
}

func distance(a, b [3]float64) float64 {
	return math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2])
}

// oklab is a colour of sRGB, in hex. Source: B. Ottosson, "A perceptual color space for
// image processing", 2020.
func oklab(t *testing.T, hex string) [3]float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(fmt.Errorf("colour %q: %w", hex, err))
	}
	linear := func(octet uint64) float64 {
		c := float64(octet&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	r, g, b := linear(n>>16), linear(n>>8), linear(n)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return [3]float64{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s, 1.9779984951*l - 2.4285922050*m + 0.4505937099*s, 0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}
