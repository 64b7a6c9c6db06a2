package scaling

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

// TestChart: two figures of one unit whose names would lie on each other, one of another that was measured once, and one that never was.
func TestChart(t *testing.T) {
	got, err := Chart("pods", []Course{
		{"memory to judge", "MiB", []float64{1000, 10_000, 10_000}, []float64{80, 160, 200}},
		{"time <of> \"all\" & more", "s", []float64{1000, 10_000, 150_000}, []float64{0, 3.65, math.NaN()}},
		{"etcd", "MiB", []float64{150_000, 1000, 10_000}, []float64{180, 18, 175}},
		{"kwok", "MiB", []float64{1000, 10_000}, []float64{0, math.Inf(1)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "chart.svg", got)
	if strings.Contains(string(got), "kwok") {
		t.Error("a figure that was not measured is drawn")
	}
	if titles := textsOf(t, got, "title"); !cmp.Equal(titles, []string{
		"slope 1: in proportion",
		"memory to judge at 1,000 pods: 80 MiB", "memory to judge at 10,000 pods: 160 MiB", "memory to judge at 10,000 pods: 200 MiB",
		"etcd at 1,000 pods: 18 MiB", "etcd at 10,000 pods: 175 MiB", "etcd at 150,000 pods: 180 MiB",
		"slope 1: in proportion", `time <of> "all" & more at 10,000 pods: 3.65 s`,
	}) {
		t.Errorf("the titles are %q", titles)
	}
}

// textsOf are the texts of all elements of a name, and proof that the image is XML.
func textsOf(t *testing.T, image []byte, name string) (texts []string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(image))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("the chart is not XML: %v", err)
		}
		if e, is := token.(xml.StartElement); is && e.Name.Local == name {
			var text string
			if err := d.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
	}
}

func TestNoChartOfNothing(t *testing.T) {
	for name, courses := range map[string][]Course{
		"no courses": nil, "no measurements": clusterCourses(nil, nil), "nothing positive": {{"a", "s", []float64{0, 1, -1}, []float64{1, 0, 1}}},
		"no numbers": RequestCourses([]Requests{{Requests: 5, JudgeCPU: math.NaN(), ReportCPU: math.Inf(1)}}),
	} {
		if image, err := Chart("pods", courses); err == nil || image != nil {
			t.Errorf("%s: %d bytes, %v", name, len(image), err)
		}
	}
}

// TestAChartKeepsWithinItsBounds: however far apart or close together values are, dots are in the plot, and names do not lie on each other.
func TestAChartKeepsWithinItsBounds(t *testing.T) {
	for name, values := range map[string][]float64{
		"the same": {7, 7, 7, 7, 7, 7}, "far apart": {1e-300, 1, 1e300, 5e-324, math.MaxFloat64, 3}, "all low": {1e6, 1, 1, 1, 1, 1},
	} {
		var courses []Course
		for _, v := range values {
			courses = append(courses, Course{"figure", "s", []float64{10, 1e9}, []float64{v, v}})
		}
		p := panelOf("pods", courses)
		var labels []float64
		for _, l := range p.Lines {
			labels = append(labels, l.LabelY)
			for _, d := range l.Dots {
				if !(d.X >= 0 && d.X <= plotWidth && d.Y >= 0 && d.Y <= plotHeight) {
					t.Errorf("%s: a dot is at %v, %v", name, d.X, d.Y)
				}
			}
		}
		for i, a := range labels {
			if a > plotHeight {
				t.Errorf("%s: a name is at %v", name, a)
			}
			for _, b := range labels[:i] {
				if math.Abs(a-b) < labelHeight-0.01 {
					t.Errorf("%s: names are at %v and %v", name, a, b)
				}
			}
		}
	}
}

// TestTheReferenceHasSlopeOne: from one end of the dashed line to the other, size and value grow by the same factor.
func TestTheReferenceHasSlopeOne(t *testing.T) {
	x, y := axisOf([]float64{100, 1e6}, 0, plotWidth), axisOf([]float64{5, 9}, plotHeight, 0)
	r := one(x, y)
	decadesX := (r.X2 - r.X1) * (x.high - x.low) / plotWidth
	decadesY := (r.Y1 - r.Y2) * (y.high - y.low) / plotHeight
	if math.Abs(decadesX/decadesY-1) > 0.01 || decadesX < 0.9 {
		t.Errorf("%v decades of sizes, and %v of values", decadesX, decadesY)
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   string
	}{
		{[]float64{100_000, 100_000_000}, "100k 1M 10M 100M"},
		{[]float64{50, 60}, "20 50 100"},
		{[]float64{0.05, 11_000}, "0.1 1 10 100 1k 10k"},
		{[]float64{3}, "1 2 5"},
	} {
		var texts []string
		for _, k := range axisOf(test.values, 0, 100).ticks() {
			texts = append(texts, k.Text)
			if k.At < 0 || k.At > 100 {
				t.Errorf("%v: %s is at %v", test.values, k.Text, k.At)
			}
		}
		if got := strings.Join(texts, " "); got != test.want {
			t.Errorf("%v: %s, want %s", test.values, got, test.want)
		}
	}
}

func TestRequestTable(t *testing.T) {
	text := RequestTable([]Requests{
		{Requests: 1_000_000, Outcome: "held", JudgeCPU: 1, RecordBytes: 100 << 20, PageBytes: 1 << 16},
		{Requests: 100_000, JudgeCPU: 0.1, RecordBytes: 10 << 20, PageBytes: 1 << 16},
	})
	want := `| requests | verdict | processor time to judge, s | memory to judge, MiB | processor time to report, s | memory to report, MiB | record, MiB | report.html, MiB |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| 100,000 | none | 0.1 | – | – | – | 10 | 0.0625 |
| 1,000,000 | held | 1 | – | – | – | 100 | 0.0625 |
| slope over requests |  | 1.00 | – | – | – | 1.00 | 0.00 |
`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
