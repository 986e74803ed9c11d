// Package archtest checks the architecture by reading the sources: the import
// order of the layers, and the constructs that would make a simulation depend on
// anything but its spec and seed. It parses in-process, so that the test cache
// sees every file it depends on.
package archtest
