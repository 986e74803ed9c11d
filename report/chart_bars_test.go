package report

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func barRows(n int) []Bar {
	var out []Bar
	for i := range n {
		v := float64(i * i * 37)
		out = append(out, Bar{Label: strings.Repeat("x", i+1), Group: []string{"real", "raw"}[i%2], Value: v, Least: v * 0.9, Biggest: v * 1.2})
	}
	return out
}

func TestBarsNameEveryRow(t *testing.T) {
	c := Bars(BarChart{Name: "bars", Title: "the title", About: "small print", Axis: "MB/s", Rows: barRows(8), Notes: []string{"a note"}})
	var b bytes.Buffer
	if err := c.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">xxxxxxxx<", ">x<", "the title", "small print", "MB/s", "a note", ">real<", ">raw<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the picture", want)
		}
	}
}

func TestBarsNeverPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := barRows(rapid.IntRange(0, 40).Draw(t, "rows"))
		scale := rapid.SampledFrom([]float64{0, 1e-9, 1e-3, 1, 1e6, 1e18, -1}).Draw(t, "scale")
		for i := range rows {
			rows[i].Value, rows[i].Least, rows[i].Biggest = rows[i].Value*scale, rows[i].Least*scale, rows[i].Biggest*scale
		}
		c := Bars(BarChart{Name: "bars", Title: "t", Axis: "MB/s", Rows: rows})
		var b bytes.Buffer
		if err := c.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
	})
}
