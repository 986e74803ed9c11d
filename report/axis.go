package report

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/simkafka/simkafka/model/kafka"
)

// timeSteps are the distances of time ticks, in seconds.
var timeSteps = [...]float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400}

// maxTimeTicks is about one every 80 pixels.
const maxTimeTicks = 10

// timeTicks marks virtual time: 20 s, 1m30s, 2h05m.
func timeTicks(lo, hi float64) []plot.Tick {
	step := (hi - lo) / maxTimeTicks
	for _, s := range timeSteps {
		if s >= step {
			step = s
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo / step); i*step <= hi*(1+1e-9) && len(out) <= 2*maxTimeTicks; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: timeLabel(i*step, step)})
	}
	return out
}

func timeLabel(x, step float64) string {
	s := int64(math.Round(x))
	switch {
	case step < 1:
		return strconv.FormatFloat(x, 'f', int(math.Ceil(-math.Log10(step)-1e-9)), 64) + " s"
	case s < 120 || s < 600 && step < 60 && s%60 != 0:
		if s < 120 {
			return fmt.Sprintf("%d s", s)
		}
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 7200 && s%60 == 0:
		return fmt.Sprintf("%d m", s/60)
	case s < 7200:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s%3600 == 0:
		return fmt.Sprintf("%d h", s/3600)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// leastLatency is where logarithmic axes begin: they have no zero.
const leastLatency = 1e-6 // one microsecond

// Logarithmic axes are linear axes of log10(seconds): the library's own scale
// panics on zero and misplaces its axis label.
func logSeconds(d kafka.Nanos) float64 { return math.Log10(max(seconds(d), leastLatency)) }

// decades is the axis from the decade at or below lo to the one at or above hi,
// at least one decade long; all are exponents of ten.
func decades(lo, hi float64) (from, to float64) {
	from, to = math.Floor(lo+1e-9), math.Ceil(hi-1e-9)
	return from, max(to, from+1)
}

// latencyTicks marks a logarithmic axis in seconds: 1 ms, 10 ms; with few decades
// also 2 and 5.
func latencyTicks(lo, hi float64) []plot.Tick {
	a, b := int(math.Round(lo)), int(math.Round(hi))
	var out []plot.Tick
	for d := a; d <= b; d++ {
		for m := 1; m < 10 && (d < b || m == 1); m++ {
			label := ""
			if m == 1 || b-a <= 2 && (m == 2 || m == 5) {
				label = decadeLabel(m, d)
			}
			out = append(out, plot.Tick{Value: float64(d) + math.Log10(float64(m)), Label: label})
		}
	}
	return out
}

func decadeLabel(m, exponent int) string {
	units := [...]struct {
		exponent int
		name     string
	}{{0, "s"}, {-3, "ms"}, {-6, "µs"}, {-9, "ns"}}
	for _, u := range units {
		if exponent >= u.exponent {
			n := int64(m)
			for range exponent - u.exponent {
				n *= 10
			}
			return count(n) + " " + u.name
		}
	}
	return fmt.Sprintf("%de%d s", m, exponent)
}

// maxCountTicks bounds the labels of a linear axis.
const maxCountTicks = 6

// countTicks marks an axis from 0 in round whole numbers.
func countTicks(_, hi float64) []plot.Tick {
	step := countStep(hi)
	var out []plot.Tick
	for i := 0.0; i*step <= hi*(1+1e-9); i++ {
		out = append(out, plot.Tick{Value: i * step, Label: countLabel(i * step)})
	}
	return out
}

func countStep(hi float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(max(hi, 1)/maxCountTicks)))
	for _, m := range []float64{1, 2, 5, 10} {
		if hi/(m*unit) <= maxCountTicks {
			return max(m*unit, 1)
		}
	}
	return max(10*unit, 1)
}

// countCeiling is the end of an axis that shows up to hi.
func countCeiling(hi float64) float64 {
	if !(hi > 0) {
		return 1
	}
	step := countStep(hi * 1.02)
	return math.Ceil(hi*1.02/step) * step
}

func countLabel(v float64) string {
	switch {
	case v >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 1e7:
		return strconv.FormatFloat(v/1e6, 'f', -1, 64) + " M"
	}
	return count(int64(math.Round(v)))
}

func seconds(d kafka.Nanos) float64 { return float64(d) / float64(kafka.Second) }
