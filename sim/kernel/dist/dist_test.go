package dist

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"math"
	"os"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

var write = flag.Bool("write", false, "write tables.go anew")

func lnAt(i int) float64 { return -math.Log(float64(256+i) / 512) }

// normalAt is the upper quantile of the tail probability at grid point g.
func normalAt(g int) float64 {
	oct, i := (g+31)/32-1, (32-g%32)%32
	if g == 0 {
		return 0
	}
	p := float64(32+i) / 64 * math.Pow(2, -float64(oct+1))
	z := math.Sqrt2 * math.Erfcinv(2*p)
	for range 3 { // Newton steps: Erfcinv loses digits in the tail
		z += (0.5*math.Erfc(z/math.Sqrt2) - p) / (math.Exp(-z*z/2) / math.Sqrt(2*math.Pi))
	}
	return z
}

func TestWriteTables(t *testing.T) {
	if !*write {
		t.Skip("only with -write; TestTablesHoldTheFunctions checks what is committed")
	}
	var b bytes.Buffer
	b.WriteString("package dist\n\n// Written by go test -run TestWriteTables -write.\n\n")
	fmt.Fprintf(&b, "// ln2 has 32 fraction bits.\nconst ln2 = %d\n\n", int64(math.Round(math.Ln2*(1<<32))))
	b.WriteString("// lnTable[i] is -ln((256+i)/512), 32 fraction bits.\nvar lnTable = [257]uint64{")
	for i := range 257 {
		fmt.Fprintf(&b, "%s%d,", sep(i, 8), int64(math.Round(lnAt(i)*(1<<32))))
	}
	b.WriteString("\n}\n\n// exp2Table[i] is 2^(i/256), 32 fraction bits.\nvar exp2Table = [257]uint64{")
	for i := range 257 {
		fmt.Fprintf(&b, "%s%d,", sep(i, 8), int64(math.Round(math.Pow(2, float64(i)/256)*(1<<32))))
	}
	b.WriteString("\n}\n\n// normalTable[32*o+32-i] is the normal quantile of the tail probability\n// (32+i)/64 * 2^-(o+1), 28 fraction bits.\nvar normalTable = [1025]int32{")
	for g := range 1025 {
		fmt.Fprintf(&b, "%s%d,", sep(g, 8), int64(math.Round(normalAt(g)*(1<<28))))
	}
	b.WriteString("\n}\n")
	src, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("tables.go", src, 0o644); err != nil {
		t.Fatal(err)
	}
}

func sep(i, per int) string {
	if i%per == 0 {
		return "\n\t"
	}
	return " "
}

func TestTablesHoldTheFunctions(t *testing.T) {
	near := func(what string, i int, got, want, scale float64) {
		if math.Abs(got-want*scale) > 1 {
			t.Errorf("%s[%d] = %v, want %v", what, i, got, want*scale)
		}
	}
	near("ln2", 0, ln2, math.Ln2, 1<<32)
	for i := range 257 {
		near("ln", i, float64(lnTable[i]), lnAt(i), 1<<32)
		near("exp2", i, float64(exp2Table[i]), math.Pow(2, float64(i)/256), 1<<32)
	}
	for g := range 1025 {
		near("normal", g, float64(normalTable[g]), normalAt(g), 1<<28)
	}
}

// A sample is the quantile of the draw.
func TestSamplesAreQuantiles(t *testing.T) {
	const d = kafka.Second
	for _, p := range []float64{0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.999999} {
		within := func(what string, got kafka.Nanos, want float64) {
			t.Helper()
			if math.Abs(float64(got)-want) > 2e-4*want+1e-5*float64(d) {
				t.Errorf("%s at %v: %d, want %.0f", what, p, got, want)
			}
		}
		tail := uint64((1 - p) * (1 << 32) * (1 << 32))
		within("exponential", Exponential(d).Sample(tail), -math.Log(1-p)*float64(d))
		z := math.Sqrt2 * math.Erfinv(2*p-1)
		draw := uint64((1-p)*(1<<32)*(1<<32)) | 1<<63 // upper half: tail probability 1-p
		if p < 0.5 {
			draw = uint64(p * (1 << 32) * (1 << 32))
		}
		if p == 0.5 {
			draw = 1<<63 - 1
		}
		within("lognormal", LogNormal(d, 500_000).Sample(draw), math.Exp(0.5*z)*float64(d))
		within("wide lognormal", LogNormal(d, 2_000_000).Sample(draw), math.Exp(2*z)*float64(d))
		within("uniform", Uniform(d, 2*d).Sample(uint64(p*(1<<32)*(1<<32))), (1+p)*float64(d))
	}
}

var vectorDraws = []uint64{0, 1, 0x0123456789abcdef, 0x7fffffffffffffff, 0x8000000000000000, 0xc000000000000001, 0xfedcba9876543210, 0xffffffffffffffff}

var vectors = []string{
	"[7 7 7 7 7 7 7 7]",
	"[200000 200000 201333 350000 350000 425000 498667 500000]",
	"[44361419 44361419 5416101 693147 693147 287682 4454 0]",
	"[23774 23774 105346 299999 3785624 392909 301340 300000]",
}

// The vectors: the same on every machine and in every release.
func TestSampleVectors(t *testing.T) {
	dists := []Dist{Constant(7), Uniform(200_000, 500_000), Exponential(1_000_000), LogNormal(300_000, 400_000)}
	for i, d := range dists {
		var got []int64
		for _, u := range vectorDraws {
			got = append(got, int64(d.Sample(u)))
		}
		if fmt.Sprint(got) != vectors[i] {
			t.Errorf("%s: %v, want %s", d, got, vectors[i])
		}
	}
}

func TestSampleStatistics(t *testing.T) {
	src := step.NewDraws(1)
	for _, c := range []struct {
		d        Dist
		mean, sd float64
	}{
		{Constant(500), 500, 0},
		{Uniform(1000, 3000), 2000, 2000 / math.Sqrt(12)},
		{Exponential(100_000), 100_000, 100_000},
		{LogNormal(100_000, 500_000), 100_000 * math.Exp(0.125), 100_000 * math.Exp(0.125) * math.Sqrt(math.Exp(0.25)-1)},
	} {
		const n = 200_000
		var sum, sq float64
		for i := range n {
			x := float64(c.d.Sample(src.Draw(c.d.String(), uint64(i))))
			sum += x
			sq += x * x
		}
		mean := sum / n
		sd := math.Sqrt(max(0, sq/n-mean*mean))
		if math.Abs(mean-c.mean) > 0.01*c.mean || math.Abs(sd-c.sd) > 0.02*c.sd+1 {
			t.Errorf("%s: mean %.1f sd %.1f, want %.1f %.1f", c.d, mean, sd, c.mean, c.sd)
		}
	}
}

func TestSamplesStayInRange(t *testing.T) {
	for _, d := range []Dist{{}, Exponential(longest), LogNormal(kafka.Forever, maxSigma), Uniform(5, 3), LogNormal(1, maxSigma)} {
		for _, u := range append([]uint64{0, 1, 2, 1 << 32, 1<<63 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64}, vectorDraws...) {
			if x := d.Sample(u); x < 0 || x > longest {
				t.Errorf("%s at %x: %d", d, u, x)
			}
		}
	}
}

func BenchmarkLogNormal(b *testing.B) {
	d := LogNormal(300_000, 400_000)
	var u uint64
	for b.Loop() {
		u += 0x9e3779b97f4a7c15
		d.Sample(u)
	}
}
