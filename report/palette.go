package report

import (
	"image/color"
	"slices"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/simkafka/simkafka/model/kafka"
)

// The colours are those of Okabe and Ito, which people with any common colour
// blindness tell apart. Lines also differ in width, and bars carry their number.
var (
	blue      = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	sky       = color.RGBA{0x56, 0xb4, 0xe9, 0xff}
	orange    = color.RGBA{0xe6, 0x9f, 0x00, 0xff}
	vermilion = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	green     = color.RGBA{0x00, 0x9e, 0x73, 0xff}
	purple    = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	yellow    = color.RGBA{0xf0, 0xe4, 0x42, 0xff}
	grey      = color.RGBA{0xa0, 0xa0, 0xa0, 0xff}

	ink      = color.RGBA{0x22, 0x22, 0x22, 0xff}
	softInk  = color.RGBA{0x66, 0x66, 0x66, 0xff}
	gridLine = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	shade    = color.RGBA{0xee, 0xea, 0xe2, 0xff} // a fault window
	shadeRim = color.RGBA{0xb8, 0xae, 0x9a, 0xff}
	black    = color.RGBA{0x11, 0x11, 0x11, 0xff} // no leader
)

// nodeColors tell brokers apart.
var nodeColors = [...]color.RGBA{blue, orange, green, purple, sky, vermilion, yellow, grey}

// lineColors are for lines, on which yellow would be too pale.
var lineColors = [...]color.RGBA{blue, orange, green, purple, sky, vermilion, ink, grey}

// nodeColor is a broker's colour: by its place among the brokers of the chart.
func nodeColor(ids []kafka.NodeID, id kafka.NodeID) color.RGBA {
	i, _ := slices.BinarySearch(ids, id)
	return nodeColors[i%len(nodeColors)]
}

// pale is a colour at a third of its strength on white.
func pale(c color.RGBA) color.RGBA {
	mix := func(v uint8) uint8 { return uint8((int(v) + 2*0xff) / 3) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 0xff}
}

// onColor is the ink that reads well on a colour.
func onColor(c color.RGBA) color.RGBA {
	if 299*int(c.R)+587*int(c.G)+114*int(c.B) > 140_000 {
		return ink
	}
	return color.RGBA{0xff, 0xff, 0xff, 0xff}
}

func sans(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

// textStyle sets the face here rather than through plot.DefaultFont, which all
// plots of the process share (interface 6.4).
func textStyle(size vg.Length, c color.Color) text.Style {
	return text.Style{Color: c, Font: sans(size), Handler: plot.DefaultTextHandler}
}

func boldStyle(size vg.Length, c color.Color) text.Style {
	s := textStyle(size, c)
	s.Font.Weight = xfont.WeightBold
	return s
}
