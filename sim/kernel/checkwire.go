package kernel

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// message is what requests and responses of kmsg share.
type message interface {
	GetVersion() int16
	SetVersion(int16)
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}

// checkWire finds what a real wire would not carry: a field above the version, a
// value that was changed after it was sent. It is recorded as an assertion of the
// sender's.
func (k *Kernel) checkWire(d *Delivery) {
	if _, now := k.measure(d.Body); uint64(now) != d.Digest {
		k.wireFault(d, "changed after it was sent")
		return
	}
	m, ok := d.Body.(message)
	if !ok {
		return
	}
	copied := reflect.New(reflect.TypeOf(m).Elem()).Interface().(message)
	copied.SetVersion(m.GetVersion())
	if err := copied.ReadFrom(m.AppendTo(nil)); err != nil {
		k.wireFault(d, "cannot be decoded: "+err.Error())
		return
	}
	if path := difference(reflect.ValueOf(m).Elem(), reflect.ValueOf(copied).Elem()); path != "" {
		k.wireFault(d, "field"+path+" does not survive the wire")
	}
}

func (k *Kernel) wireFault(d *Delivery, what string) {
	name := fmt.Sprintf("%T", d.Body)
	version := int16(0)
	if m, ok := d.Body.(message); ok {
		version = m.GetVersion()
		name = reflect.TypeOf(m).Elem().Name()
	}
	sender := k.actors[d.From]
	k.assert(sender, &Assertion{Message: fmt.Sprintf("wire check: %s v%d %s", name, version, what)})
}

// difference is the path of the first field that differs, "" if none does. Nil and
// empty slices are equal: most of the protocol's arrays cannot tell them apart.
func difference(x, y reflect.Value) string {
	switch x.Kind() {
	case reflect.Struct:
		if x.Type() == reflect.TypeFor[kmsg.Tags]() {
			if x.Field(0).Len() != y.Field(0).Len() {
				return ".tags"
			}
			return ""
		}
		for i := range x.NumField() {
			if p := difference(x.Field(i), y.Field(i)); p != "" {
				return "." + x.Type().Field(i).Name + p
			}
		}
	case reflect.Pointer:
		if x.IsNil() != y.IsNil() {
			return " (null)"
		}
		if !x.IsNil() {
			return difference(x.Elem(), y.Elem())
		}
	case reflect.Slice:
		if x.Len() != y.Len() {
			return " (length)"
		}
		if x.Type().Elem().Kind() == reflect.Uint8 {
			if !bytes.Equal(x.Bytes(), y.Bytes()) {
				return " (bytes)"
			}
			return ""
		}
		for i := range x.Len() {
			if p := difference(x.Index(i), y.Index(i)); p != "" {
				return fmt.Sprintf("[%d]%s", i, p)
			}
		}
	default:
		if !x.Equal(y) {
			return " (value)"
		}
	}
	return ""
}
