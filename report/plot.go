package report

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/simkafka/simkafka/model/outcome"
)

// Chart is one picture of a run.
type Chart struct {
	Name   string // file name without extension
	title  string
	about  string // scenario, seed, protocol
	key    []keyEntry
	panels []*plot.Plot
	notes  []string // below the panels
	height vg.Length
}

// keyEntry explains a colour; keys stand above the data, never over them.
type keyEntry struct {
	label string
	color color.RGBA
	width vg.Length // of a line; 0 = a box
}

// Charts makes every chart of a result, in a fixed order. A run without data for
// one gives an empty chart that says so.
func Charts(r *outcome.Result) []Chart {
	return append([]Chart{
		latencyChart(r, "latency-produce", "Produce latency: send call to acknowledgement", "nothing was acknowledged", r.Series.Produce),
		latencyChart(r, "latency-e2e", "End-to-end latency: send call to delivery at a consumer", "nothing was delivered", r.Series.E2E),
		throughputChart(r),
		partitionsChart(r),
		lagChart(r),
	}, groupCharts(r)...)
}

const (
	chartWidth  = 9.5 * vg.Inch
	panelHeight = 3 * vg.Inch
	margin      = vg.Length(12)
	titleSize   = vg.Length(13)
	labelSize   = vg.Length(10)
	noteSize    = vg.Length(9)
	lineGap     = 1.35
	// columns is the number of pixels across a panel that lines are thinned to.
	columns = 720
	// resolution of PNG files, in dots an inch.
	resolution = 110
)

// WriteSVG draws the chart as SVG. The text stays text; the font is named with
// fallbacks, as files do not embed it.
func (c *Chart) WriteSVG(w io.Writer) error {
	width, height := c.size()
	canvas := vgsvg.New(width, height)
	c.draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return fmt.Errorf("chart %s: %w", c.Name, err)
	}
	return put(w, finishSVG(b.String(), c.title))
}

// finishSVG adds font fallbacks, a white ground and a title for screen readers.
func finishSVG(svg, title string) string {
	svg = strings.ReplaceAll(svg, "font-family:Liberation Sans;font-variant:normal",
		"font-family:'Liberation Sans',Arial,Helvetica,sans-serif")
	head, body, ok := strings.Cut(svg, "xlink\">\n")
	if !ok {
		return svg
	}
	return head + "xlink\" role=\"img\">\n<title>" + title + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + body
}

// WritePNG draws the chart as PNG.
func (c *Chart) WritePNG(w io.Writer) error {
	width, height := c.size()
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))}
	c.draw(draw.New(canvas))
	if _, err := canvas.WriteTo(w); err != nil {
		return fmt.Errorf("chart %s: %w", c.Name, err)
	}
	return nil
}

func (c *Chart) size() (width, height vg.Length) {
	return chartWidth, c.height + 2*margin + titleSize*lineGap*1.6 + c.keyHeight() + vg.Length(len(c.notes))*noteSize*lineGap + 4
}

func (c *Chart) keyHeight() vg.Length {
	if len(c.key) == 0 {
		return 0
	}
	return labelSize * 2.5
}

// draw lays out title, key, panels and notes from top to bottom.
func (c *Chart) draw(dc draw.Canvas) {
	dc = draw.Crop(dc, margin, -margin, margin, -margin)
	title := boldStyle(titleSize, ink)
	dc.FillText(top(title), vg.Point{X: dc.Min.X, Y: dc.Max.Y}, c.title)
	about := top(textStyle(noteSize, softInk))
	about.XAlign = text.XRight
	dc.FillText(about, vg.Point{X: dc.Max.X, Y: dc.Max.Y - 2}, c.about)
	dc = draw.Crop(dc, 0, 0, 0, -titleSize*lineGap*1.6)
	if len(c.key) > 0 {
		c.drawKey(dc)
		dc = draw.Crop(dc, 0, 0, 0, -c.keyHeight())
	}
	note := top(textStyle(noteSize, softInk))
	for i, n := range c.notes {
		y := dc.Min.Y + vg.Length(len(c.notes)-i)*noteSize*lineGap - 2
		dc.FillText(note, vg.Point{X: dc.Min.X, Y: y}, shorten(note, n, dc.Max.X-dc.Min.X))
	}
	dc = draw.Crop(dc, 0, 0, vg.Length(len(c.notes))*noteSize*lineGap+4, 0)
	grid := make([][]*plot.Plot, len(c.panels))
	for i, p := range c.panels {
		grid[i] = []*plot.Plot{p}
	}
	tiles := draw.Tiles{Rows: len(c.panels), Cols: 1, PadY: 10}
	for i, row := range plot.Align(grid, tiles, dc) {
		c.panels[i].Draw(row[0])
	}
}

func top(s text.Style) text.Style {
	s.YAlign = text.YTop
	return s
}

// drawKey draws the key in one line from the left.
func (c *Chart) drawKey(dc draw.Canvas) {
	style := textStyle(labelSize, ink)
	style.YAlign = text.YCenter
	x, y := dc.Min.X, dc.Max.Y-labelSize*0.6
	for _, k := range c.key {
		const mark = vg.Length(16)
		room := dc.Max.X - x - mark - 4
		if room < 20 {
			return
		}
		if k.width > 0 {
			dc.StrokeLine2(draw.LineStyle{Color: k.color, Width: k.width}, x, y, x+mark, y)
		} else {
			box(dc, k.color, x, y-5, x+mark, y+5)
		}
		x += mark + 4
		label := shorten(style, k.label, room)
		dc.FillText(style, vg.Point{X: x, Y: y}, label)
		x += style.Width(label) + 16
	}
}

func box(dc draw.Canvas, c color.Color, x0, y0, x1, y1 vg.Length) {
	dc.FillPolygon(c, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// shorten cuts a text that is wider than room.
func shorten(s text.Style, label string, room vg.Length) string {
	if s.Width(label) <= room {
		return label
	}
	runes := []rune(label)
	for len(runes) > 0 && s.Width(string(runes)+"…") > room {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}

func about(r *outcome.Result) string {
	return fmt.Sprintf("%s · seed %d · %s", r.Scenario, r.Seed, r.Protocol)
}

// newPanel is a plot with our axes: virtual time to the right, from 0 to end.
func newPanel(end float64, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(labelSize)
		a.Label.TextStyle.Color = ink
		a.Label.Padding = 3
		a.Tick.Label.Font = sans(labelSize)
		a.Tick.Label.Color = ink
		a.LineStyle.Color = softInk
		a.Tick.LineStyle.Color = softInk
		a.Padding = 0
	}
	p.X.Label.Text = "virtual time"
	p.X.Min, p.X.Max = 0, end
	p.X.Tick.Marker = plot.TickerFunc(timeTicks)
	p.Y.Label.Text = yLabel
	p.Y.Min, p.Y.Max = 0, 1
	return p
}
