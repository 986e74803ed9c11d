package inspect

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Data is a key or a value; nil is null. As text it is itself if it is printable UTF-8,
// else 0x and hex digits. As JSON it is null, {"text": …} or {"hex": …}.
type Data []byte

// IsText tells printable UTF-8, tabs and line ends included.
func (d Data) IsText() bool {
	return utf8.Valid(d) && !strings.ContainsFunc(string(d), func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\t' && r != '\n'
	})
}

// String is one line, whatever the data.
func (d Data) String() string {
	switch {
	case d == nil:
		return "null"
	case d.IsText():
		return strings.NewReplacer("\\", `\\`, "\n", `\n`, "\t", `\t`).Replace(string(d))
	}
	return "0x" + hex.EncodeToString(d)
}

// MarshalJSON implements json.Marshaler.
func (d Data) MarshalJSON() ([]byte, error) {
	switch {
	case d == nil:
		return []byte("null"), nil
	case d.IsText():
		return json.Marshal(struct {
			Text string `json:"text"`
		}{string(d)})
	}
	return json.Marshal(struct {
		Hex string `json:"hex"`
	}{hex.EncodeToString(d)})
}

// Header is one header of a record.
type Header struct {
	Key   string `json:"key"`
	Value Data   `json:"value"`
}
