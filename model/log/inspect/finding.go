package inspect

import (
	"fmt"

	"github.com/simkafka/simkafka/model/kafka"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// Error: data is damaged or lost, or a broker would answer wrongly.
	Error Severity = "error"
	// Warning: something is not as a broker leaves it, and a start puts it right or it
	// does little harm.
	Warning Severity = "warning"
	// Info is a fact worth knowing; nothing is wrong.
	Info Severity = "info"
)

// Finding is one thing that Verify has to say.
type Finding struct {
	Severity Severity `json:"severity"`
	// Kind is a stable word for the rule.
	Kind string `json:"kind"`
	// File is the path below the directory that was looked at; it may be a directory.
	File string `json:"file"`
	// Pos is the position in the file in bytes; -1 if it is about all of it.
	Pos int64 `json:"pos"`
	// Offset is that of the record it begins with; -1 if there is none.
	Offset kafka.Offset `json:"offset"`
	What   string       `json:"what"`
	// AtStart is what a broker would do about it at its next start.
	AtStart string `json:"at_start,omitempty"`
	// Lost is what would be gone then, or cannot be read.
	Lost string `json:"lost,omitempty"`
}

// maxPerFile bounds the findings of a file that are handed out.
const maxPerFile = 50

const (
	nothing  = "nothing"
	asItIs   = "used as it is: a start does not check it"
	wholePos = -1
)

// sink hands findings out and counts them.
type sink struct {
	emit                    func(*Finding)
	file                    string
	inFile                  int
	errors, warnings, infos int64
	partition               *Partition // whose they are; may be nil
}

func (s *sink) add(f *Finding) {
	s.count(f.Severity)
	if f.File != s.file {
		s.flush()
		s.file = f.File
	}
	if s.inFile++; s.inFile <= maxPerFile {
		s.emit(f)
	}
}

func (s *sink) count(severity Severity) {
	total, mine := &s.infos, (*int64)(nil)
	if s.partition != nil {
		mine = &s.partition.Infos
	}
	switch severity {
	case Error:
		total = &s.errors
		if s.partition != nil {
			mine = &s.partition.Errors
		}
	case Warning:
		total = &s.warnings
		if s.partition != nil {
			mine = &s.partition.Warnings
		}
	}
	*total++
	if mine != nil {
		*mine++
	}
}

// flush tells how many findings of the last file were not handed out.
func (s *sink) flush() {
	if more := s.inFile - maxPerFile; more > 0 {
		s.emit(&Finding{Severity: Info, Kind: "more", File: s.file, Pos: wholePos, Offset: kafka.NoOffset,
			What: fmt.Sprintf("%d more findings of this file are not shown", more)})
	}
	s.file, s.inFile = "", 0
}
