package osfs

import (
	"io"
	"syscall"
)

const haveSendfile = true

// msgMore is MSG_MORE: the kernel waits for what follows before it fills a packet.
const msgMore = 0x8000

// sendfileMax bounds one call, as the kernel does below 2 GiB.
const sendfileMax = 1 << 30

// sendfile writes the header, with more announced or not, and lets the kernel take the
// ranges from their files. It waits in the runtime's poller while the socket is full.
func (s *Sender) sendfile(header []byte, parts []Range, more bool) error {
	if more && len(parts) > 0 {
		if err := s.announce(header); err != nil {
			return err
		}
	} else if err := s.writeOut(header, &s.paths.Copied); err != nil {
		return err
	}
	for _, p := range parts {
		h, ok := p.File.(*file)
		if !ok { // another file system's
			if err := s.combined(nil, []Range{p}); err != nil {
				return err
			}
			continue
		}
		if err := s.sendRange(h, p); err != nil {
			return failure("sendfile", h.name, err)
		}
	}
	return nil
}

func (s *Sender) announce(b []byte) error {
	var err error
	waitErr := s.raw.Write(func(socket uintptr) bool {
		for len(b) > 0 {
			var n int
			n, err = syscall.SendmsgN(int(socket), b, nil, nil, msgMore)
			switch {
			case err == syscall.EINTR:
				continue
			case err == syscall.EAGAIN:
				return false
			case err != nil:
				return true
			}
			b = b[n:]
		}
		return true
	})
	if err == nil {
		err = waitErr
	}
	return failure("send", "header", err)
}

func (s *Sender) sendRange(h *file, p Range) error {
	source, pos, left := int(h.f.Fd()), p.Pos, p.Size
	var err error
	waitErr := s.raw.Write(func(socket uintptr) bool {
		for left > 0 {
			var n int
			n, err = syscall.Sendfile(int(socket), source, &pos, min(left, sendfileMax))
			if n > 0 {
				s.paths.Sendfile.add(n)
				left -= n
			}
			switch {
			case err == syscall.EINTR:
			case err == syscall.EAGAIN:
				err = nil
				return false
			case err != nil:
				return true
			case n == 0:
				err = io.ErrUnexpectedEOF // the file is shorter
				return true
			}
		}
		return true
	})
	if err == nil || err == syscall.EINTR {
		err = waitErr
	}
	return err
}
