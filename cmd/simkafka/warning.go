package main

import (
	"strconv"
	"strings"
)

// warning takes apart what the loader leaves in Spec.Warnings: file:line:col: text.
// What has no place keeps line and column 0.
func warning(text string) finding {
	f := finding{Message: text, Severity: "warning"}
	head, message, ok := strings.Cut(text, ": ")
	if !ok {
		return f
	}
	parts := strings.Split(head, ":")
	if len(parts) < 3 {
		return f
	}
	line, errLine := strconv.Atoi(parts[len(parts)-2])
	col, errCol := strconv.Atoi(parts[len(parts)-1])
	if errLine != nil || errCol != nil {
		return f
	}
	f.File, f.Line, f.Col, f.Message = strings.Join(parts[:len(parts)-2], ":"), line, col, message
	return f
}
