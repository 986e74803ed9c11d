package record

import (
	"bytes"
	"testing"
)

// A batch that a leader has put into its log is not summed up again; an equal one in
// other memory is, and so is a part of it.
func TestCheckedKnowsTheSameBytesOnly(t *testing.T) {
	l := DefaultLimits()
	l.Scratch = &Scratch{Checked: new(Checked)}
	out, v := ValidateAndAssign(unhex(vectorR1), 7, 3, 0, &l)
	if v.Code != 0 {
		t.Fatal(v)
	}
	c := l.Scratch.Checked
	flipped := bytes.Clone(out)
	flipped[len(flipped)-1] ^= 1
	if c.Check(flipped) == nil {
		t.Error("equal but for one bit")
	}
	out[len(out)-1] ^= 1 // nobody may: it shows that nothing is computed
	if err := c.Check(out); err != nil {
		t.Error(err)
	}
	if c.Check(out[:len(out)-1]) == nil {
		t.Error("cut")
	}
	var nothing *Checked
	if nothing.Check(out) == nil {
		t.Error("a nil Checked computes")
	}
	if _, err := CheckFollower(out, c); err != nil {
		t.Error(err)
	}
}
