package report

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// chromium runs a headless browser on a page and returns what it writes; the test is
// skipped where there is none: the page's structure is tested without it, too.
func chromium(t *testing.T, arguments ...string) []byte {
	t.Helper()
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no chromium here")
	}
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	fixed := []string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" + t.TempDir()}
	cmd := exec.CommandContext(ctx, browser, append(fixed, arguments...)...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", browser, arguments, err, &errs)
	}
	return out
}

// browserPages are the pages that the browser is shown.
func browserPages(t *testing.T) map[string]string {
	t.Helper()
	c, err := CompareLabs([]LabRun{{"a.json", smallLab(t)}, {"b.json", smallLab(t)}}, CompareOptions{Threshold: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	var comparison bytes.Buffer
	if err := LabComparisonHTML(&comparison, c); err != nil {
		t.Fatal(err)
	}
	probed := written(t, func(b *bytes.Buffer) error { return ProbeHTML(b, sampleProbe(t, 30)) })
	var sliced bytes.Buffer
	if err := SlicesHTML(&sliced, sampleSlices(t, "tun", "open5gs-tun")); err != nil {
		t.Fatal(err)
	}
	document := written(t, func(b *bytes.Buffer) error { return sampleDocument().WriteHTML(b) })
	return map[string]string{"lab": labPageOf(t, smallLab(t)), "comparison": comparison.String(), "probe": probed, "slices": sliced.String(), "document": document}
}

func writePage(t *testing.T, page string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPageFits: on a phone, a tablet and a desk nothing of the page is wider than it,
// and every chart has a size. The frames are of the test; the page itself has no script.
func TestPageFits(t *testing.T) {
	t.Parallel()
	widths := []int{360, 768, 1280}
	frames := ""
	pages := browserPages(t)
	for name, page := range pages {
		for _, width := range widths {
			frames += fmt.Sprintf(`<iframe id="%s%d" style="width:%dpx;height:900px;border:0" srcdoc="%s"></iframe>`, name, width, width, html.EscapeString(page))
		}
	}
	const measure = `<script>addEventListener("load", () => { for (const f of document.querySelectorAll("iframe")) {
		const d = f.contentDocument, svgs = [...d.querySelectorAll(".charts svg")].filter(s => s.checkVisibility());
		const least = Math.min(...svgs.map(s => s.getBoundingClientRect().width));
		const cut = [...d.querySelectorAll(".scroll")].filter(s => s.checkVisibility() && s.scrollWidth > s.clientWidth).length;
		f.replaceWith(f.id + ": " + d.documentElement.scrollWidth + " wide, " + svgs.length + " charts, least " + Math.round(least) + ", " + cut + " cut;");
	} })</script>`
	dom := chromium(t, "--dump-dom", "--virtual-time-budget=5000", "file://"+writePage(t, "<!doctype html>"+frames+measure))
	for name := range pages {
		for _, width := range widths {
			m := regexp.MustCompile(fmt.Sprintf(`%s%d: (\d+) wide, (\d+) charts, least (\d+), (\d+) cut;`, name, width)).FindSubmatch(dom)
			if m == nil {
				t.Fatalf("%s: nothing of a width of %d in %.2000s", name, width, dom)
			}
			got := [4]int{}
			for i := range got {
				got[i], _ = strconv.Atoi(string(m[i+1]))
			}
			if got[0] > width || got[1] == 0 || got[2] < 250 {
				t.Errorf("%s at %d: got %d wide, %d charts, the smallest %d: want all of it to fit", name, width, got[0], got[1], got[2])
			}
			if name == "document" && width == 1280 && got[3] > 0 {
				t.Errorf("%s at %d: %d tables are cut off", name, width, got[3])
			}
		}
	}
}

// TestPageColours: the page is light or dark as its reader has it.
func TestPageColours(t *testing.T) {
	t.Parallel()
	page := writePage(t, browserPages(t)["lab"])
	for scheme, wantLight := range map[string]bool{"1": true, "0": false} {
		picture := filepath.Join(t.TempDir(), "page.png")
		chromium(t, "--window-size=900,1200", "--blink-settings=preferredColorScheme="+scheme, "--screenshot="+picture, "file://"+page)
		f, err := os.Open(picture)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		image, err := png.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		if grey := color.GrayModel.Convert(image.At(2, 2)).(color.Gray); (grey.Y > 128) != wantLight {
			t.Errorf("scheme %s: the page's grey is %d, want light: %v", scheme, grey.Y, wantLight)
		}
		colours := map[color.Color]int{}
		for y := range image.Bounds().Dy() {
			for x := range image.Bounds().Dx() {
				colours[image.At(x, y)]++
			}
		}
		bars := map[bool]color.RGBA{true: {0x1f, 0x6f, 0xeb, 0xff}, false: {0x5a, 0x9b, 0xff, 0xff}}[wantLight]
		if colours[bars] < 1000 {
			t.Errorf("scheme %s: %d points of the first system's colour %v, want bars", scheme, colours[bars], bars)
		}
	}
}

// TestPagePrints: the page becomes a PDF of some pages.
func TestPagePrints(t *testing.T) {
	t.Parallel()
	pdf := filepath.Join(t.TempDir(), "page.pdf")
	chromium(t, "--no-pdf-header-footer", "--print-to-pdf="+pdf, "file://"+writePage(t, browserPages(t)["lab"]))
	got, err := os.ReadFile(pdf)
	if err != nil {
		t.Fatal(err)
	}
	if pages := bytes.Count(got, []byte("/Type /Page\n")); !bytes.HasPrefix(got, []byte("%PDF-")) || pages < 2 {
		t.Errorf("got %d octets, %d pages, want a PDF of several", len(got), pages)
	}
}
