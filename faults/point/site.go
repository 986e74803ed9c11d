package point

import "strings"

// Site is a place in the simulator at which a failpoint may fire.
type Site uint8

// The sites. Each counts the hits of the registry that it is asked in; sim/cluster
// gives every broker a registry of its own.
const (
	DiskAppend Site = iota
	DiskWrite
	DiskRead
	DiskTruncate
	DiskCreate
	DiskRemove
	DiskRename
	DiskSync
	DiskSyncDir
	DiskFlush
	MessageDelivery
	Boot
	numSites
)

// row describes a site. Values are the strings that return("…") may carry
// there; a bare return, return(true) and return(N) stand for the first.
type row struct {
	name, doc string
	values    []string
}

// The values of disk sites.
const (
	EIO     = "EIO"     // the call fails with an input/output error
	ENOSPC  = "ENOSPC"  // the call fails: no space left on device
	Dropped = "dropped" // the sync fails with EIO and leaves its pages clean (D16)
	Lie     = "lie"     // the sync reports success and makes nothing durable (D15)
)

// The values of the other sites.
const (
	Reset  = "reset"  // the connection is reset instead
	Failed = "failed" // the process dies at once
)

var sites = [numSites]row{
	DiskAppend:      {"disk-append", "appending to a file", []string{EIO, ENOSPC}},
	DiskWrite:       {"disk-write", "writing inside a file (index entries)", []string{EIO, ENOSPC}},
	DiskRead:        {"disk-read", "reading from a file", []string{EIO}},
	DiskTruncate:    {"disk-truncate", "changing a file's length", []string{EIO, ENOSPC}},
	DiskCreate:      {"disk-create", "creating a file or directory", []string{EIO, ENOSPC}},
	DiskRemove:      {"disk-remove", "removing a file or directory", []string{EIO}},
	DiskRename:      {"disk-rename", "renaming a file or directory", []string{EIO, ENOSPC}},
	DiskSync:        {"disk-sync", "fsync of a file, in the foreground", []string{EIO, Dropped, Lie}},
	DiskSyncDir:     {"disk-syncdir", "fsync of a directory", []string{EIO, Lie}},
	DiskFlush:       {"disk-flush", "completion of a background flush", []string{EIO, Dropped, Lie}},
	MessageDelivery: {"message-delivery", "a request or response arrives at the node", []string{Reset}},
	Boot:            {"boot", "the process starts", []string{Failed}},
}

// Sites lists all sites in table order.
func Sites() []Site {
	all := make([]Site, numSites)
	for i := range all {
		all[i] = Site(i)
	}
	return all
}

// Parse finds a site by its name.
func Parse(name string) (Site, bool) {
	for i := range sites {
		if sites[i].name == name {
			return Site(i), true
		}
	}
	return 0, false
}

// String is the site's name in scenario files.
func (s Site) String() string { return sites[s].name }

// Description says in words when the site is passed.
func (s Site) Description() string { return sites[s].doc }

// Values are the strings that return("…") may carry at this site, the default
// first. The slice must not be changed.
func (s Site) Values() []string { return sites[s].values }

func siteNames() string {
	names := make([]string, numSites)
	for i := range sites {
		names[i] = sites[i].name
	}
	return strings.Join(names, ", ")
}
