package main

import (
	"bytes"
	"testing"
)

func TestMeterShowsABarOnATerminal(t *testing.T) {
	var out bytes.Buffer
	m := &meter{status: status{w: &out, terminal: true, every: 1}, total: 4 << 20}
	m.add(1 << 20)
	want := "\r\x1b[K[======                  ] 1.0 MiB of 4.0 MiB, 25 %"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	m.add(9 << 20) // a file grew meanwhile
	if !bytes.Contains(out.Bytes(), []byte("[========================] 10.0 MiB of 4.0 MiB, 100 %")) {
		t.Errorf("%q", out.String())
	}
	m.clear()
	if !bytes.HasSuffix(out.Bytes(), []byte("\r\x1b[K")) {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	plain := &meter{status: status{w: &out, every: 1}, total: 4}
	plain.add(1)
	if out.String() != "1 B of 4 B, 25 %\n" {
		t.Errorf("%q", out.String())
	}
}
