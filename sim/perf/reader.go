package perf

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"time"
)

// readerParams tell a reader what to do; they travel as JSON.
type readerParams struct {
	Address string
	TLS     bool
	Verify  bool  // tell the checksum of each answer with the next request
	Size    int   // to ask for; 0 reads a stream to its end
	Count   int   // requests
	Log     int64 // bytes that a stream must have, without headers
	End     int64 // offsets below this are asked for
}

// ReadFrom is the reader's process: args are what was appended to Options.Reader.
func ReadFrom(args []string) error {
	var p readerParams
	if len(args) != 1 {
		return errors.New("perf: the reader wants one argument")
	}
	if err := json.Unmarshal([]byte(args[0]), &p); err != nil {
		return fmt.Errorf("perf: reader: %w", err)
	}
	return p.read()
}

func (p *readerParams) read() (err error) {
	conn, err := net.Dial("tcp", p.Address)
	if err != nil {
		return err
	}
	if p.TLS {
		// The certificate was made for this run.
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13})
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if p.Size == 0 {
		return p.readStream(conn)
	}
	return p.readAnswers(conn)
}

// readStream reads answers until the end.
func (p *readerParams) readStream(conn net.Conn) error {
	buf := make([]byte, 1<<20)
	var header [answerHeader]byte
	total := int64(0)
	for id := uint32(0); ; id++ {
		if _, err := io.ReadFull(conn, header[:]); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		size, err := sizeOf(header, id)
		if err != nil {
			return err
		}
		for left := size; left > 0; {
			n, err := conn.Read(buf[:min(left, len(buf))])
			if err != nil {
				return err
			}
			left -= n
		}
		total += int64(size)
	}
	return demand("bytes received", total, p.Log)
}

func sizeOf(header [answerHeader]byte, id uint32) (int, error) {
	if got := binary.BigEndian.Uint32(header[4:]); got != id {
		return 0, fmt.Errorf("perf: answer %d came for request %d", got, id)
	}
	return int(binary.BigEndian.Uint32(header[:])) - (answerHeader - 4), nil
}

// readAnswers asks for random offsets, one after the other.
func (p *readerParams) readAnswers(conn net.Conn) error {
	buf := make([]byte, answerHeader+p.Size)
	rnd := random(11)
	var q [requestSize]byte
	for id := range p.Count {
		// Where something is asked for, all of Size follows.
		room := max(1, p.End-p.End*int64(p.Size)/max(p.Log, 1))
		binary.BigEndian.PutUint64(q[:], rnd.next()%uint64(room))
		binary.BigEndian.PutUint32(q[8:], uint32(p.Size))
		if _, err := conn.Write(q[:]); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, buf[:answerHeader]); err != nil {
			return err
		}
		size, err := sizeOf([answerHeader]byte(buf), uint32(id))
		if err != nil {
			return err
		}
		if size < 1 || size > p.Size {
			return fmt.Errorf("perf: an answer of %d bytes to a request of %d", size, p.Size)
		}
		if _, err := io.ReadFull(conn, buf[answerHeader:][:size]); err != nil {
			return err
		}
		if p.Verify {
			binary.BigEndian.PutUint32(q[12:], crc32.Checksum(buf[answerHeader:][:size], castagnoli()))
		}
	}
	binary.BigEndian.PutUint32(q[8:], 0)
	_, err := conn.Write(q[:])
	return err
}

// reader is a reader under way: a process, or a goroutine.
type reader struct {
	cmd    *exec.Cmd
	result chan error
}

func startReader(command []string, p readerParams) (*reader, error) {
	if len(command) == 0 {
		r := &reader{result: make(chan error, 1)}
		go func() { r.result <- p.read() }()
		return r, nil
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], string(text))...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the reader: %w", err)
	}
	r := &reader{cmd: cmd, result: make(chan error, 1)}
	go func() { r.result <- cmd.Wait() }()
	return r, nil
}

// wait is the end of a reader: its CPU time, if it is a process, and its error.
func (r *reader) wait() (cpu time.Duration, err error) {
	if err := <-r.result; err != nil {
		return 0, fmt.Errorf("reader: %w", err)
	}
	if r.cmd == nil {
		return 0, nil
	}
	return r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime(), nil
}

// stop ends a reader whose connection is closed or was never made.
func (r *reader) stop() error {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill() // it may be gone already
	}
	select {
	case err := <-r.result:
		if err != nil {
			err = fmt.Errorf("reader: %w", err)
		}
		return err
	case <-time.After(readerPatience):
		return errors.New("perf: the reader does not end")
	}
}

// readerPatience is how long a reader may take to connect or to end.
const readerPatience = 30 * time.Second

// accept waits for the reader's connection.
func accept(l net.Listener, r *reader) (net.Conn, error) {
	if t, ok := l.(*net.TCPListener); ok {
		if err := t.SetDeadline(time.Now().Add(readerPatience)); err != nil {
			return nil, err
		}
	}
	conn, err := l.Accept()
	if err != nil {
		return nil, fmt.Errorf("wait for the reader: %w", err)
	}
	return conn, nil
}

// selfSigned is a certificate of this process.
func selfSigned() (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "simkafka perf"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13}, nil
}
