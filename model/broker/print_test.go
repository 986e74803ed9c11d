package broker

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// printable writes all fields of a message, so that two can be compared: nil and
// empty slices alike, tags left out.
func printable(m any) string {
	var b strings.Builder
	printValue(&b, reflect.ValueOf(m).Elem())
	return b.String()
}

func printValue(b *strings.Builder, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		b.WriteByte('{')
		for i := range v.NumField() {
			b.WriteString(v.Type().Field(i).Name + ":")
			printValue(b, v.Field(i))
			b.WriteByte(' ')
		}
		b.WriteByte('}')
	case reflect.Slice, reflect.Array:
		b.WriteByte('[')
		for i := range v.Len() {
			printValue(b, v.Index(i))
			b.WriteByte(' ')
		}
		b.WriteByte(']')
	case reflect.Pointer:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		printValue(b, v.Elem())
	default:
		fmt.Fprint(b, v.Interface())
	}
}
