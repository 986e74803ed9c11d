//go:build !linux

package perf

import (
	"errors"
	"os"
)

func describe(string) (kernel, fs string, load int64) { return "", "unknown", -1 }

// canDrop is false: there are no cold rows here.
const canDrop = false

func dropPages(*os.File) error { return errors.ErrUnsupported }
