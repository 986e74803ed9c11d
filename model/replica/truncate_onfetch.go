package replica

// truncateOnFetch is T-4, KIP-595's way for data partitions: the table of T-3,
// applied to the diverging epoch that a fetch answers. A log without epochs cuts
// at its high watermark first.
type truncateOnFetch struct{ truncateEpoch279 }

func (truncateOnFetch) name() string  { return "onfetch" }
func (truncateOnFetch) asks() bool    { return true }
func (truncateOnFetch) onFetch() bool { return true }
