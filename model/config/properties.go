package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Property is one entry of a properties file, with its place.
type Property struct {
	Setting
	Line int // of the key, from 1
}

// ParseProperties reads a Java properties file (java.util.Properties.load) such as
// Kafka's server.properties: comments with # and !, separators =, : or white space,
// lines continued by a backslash, escapes. A later entry of a key wins there; here
// both are returned, in order. Errors name the line.
func ParseProperties(text string) ([]Property, []error) {
	var out []Property
	var errs []error
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		start := i + 1
		line := strings.TrimLeft(lines[i], " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for continued(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(lines[i], " \t\f")
		}
		k, v := splitProperty(line)
		key, err := unescape(k)
		value, err2 := unescape(v)
		if err == nil {
			err = err2
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", start, err))
			continue
		}
		out = append(out, Property{Setting{key, strings.TrimRight(value, " \t")}, start})
	}
	return out, errs
}

// continued reports whether a line ends in an odd number of backslashes.
func continued(line string) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// splitProperty cuts at the first separator that is not escaped.
func splitProperty(line string) (key, value string) {
	i := 0
	for i < len(line) && !strings.ContainsRune("=: \t\f", rune(line[i])) {
		if line[i] == '\\' {
			i++
		}
		i++
	}
	i = min(i, len(line))
	key = line[:i]
	rest := strings.TrimLeft(line[i:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return key, rest
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+5 > len(s) {
				return "", fmt.Errorf(`\u needs four hexadecimal digits in %q`, s)
			}
			n, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", fmt.Errorf(`\u needs four hexadecimal digits in %q`, s)
			}
			b.Write(utf8.AppendRune(nil, rune(n)))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}
