package report

// point is a place in a chart's own coordinates: x in seconds.
type point struct{ x, y float64 }

// decimate keeps at most two points in each of columns equal parts of [from, to]:
// its least and its greatest, in their order, so that no peak is lost and the
// cost of drawing does not grow with the data (interface D9). The first and the
// last point stay too. Points must be in order of x.
func decimate(points []point, from, to float64, columns int) []point {
	if len(points) <= 2*columns || columns <= 0 || !(to > from) {
		return points
	}
	out := make([]point, 0, 2*columns+2)
	out = append(out, points[0])
	for i := 0; i < len(points); {
		column := columnOf(points[i].x, from, to, columns)
		least, most := i, i
		for i++; i < len(points) && columnOf(points[i].x, from, to, columns) == column; i++ {
			if points[i].y < points[least].y {
				least = i
			}
			if points[i].y > points[most].y {
				most = i
			}
		}
		out = keep(out, points, min(least, most))
		out = keep(out, points, max(least, most))
	}
	return keep(out, points, len(points)-1)
}

// keep appends points[i] unless it stands there already.
func keep(out, points []point, i int) []point {
	if out[len(out)-1] == points[i] {
		return out
	}
	return append(out, points[i])
}

func columnOf(x, from, to float64, columns int) int {
	c := (x - from) / (to - from) * float64(columns)
	return int(min(max(c, 0), float64(columns-1)))
}

// chunkSize is how many points one stroke has: strokes that cross themselves often
// are slow to rasterise, and more so the longer they are.
const chunkSize = 64

// chunks cuts a line into strokes of at most chunkSize points, each beginning
// where the one before ended.
func chunks[T any](line []T) [][]T {
	var out [][]T
	for len(line) > chunkSize {
		out = append(out, line[:chunkSize])
		line = line[chunkSize-1:]
	}
	if len(line) > 1 {
		out = append(out, line)
	}
	return out
}
