//go:build !linux

package osfs

import "errors"

// haveSendfile is false: a Sender reads and writes here.
const haveSendfile = false

func (s *Sender) sendfile([]byte, []Range, bool) error { return errors.ErrUnsupported }
