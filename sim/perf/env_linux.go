package perf

import (
	"fmt"
	"os"
	"syscall"
)

// fileSystems are the magic numbers of statfs(2).
var fileSystems = map[int64]string{
	0xef53: "ext4", 0x58465342: "xfs", 0x9123683e: "btrfs", 0x01021994: "tmpfs", 0x794c7630: "overlay",
	0x6969: "nfs", 0x2fc12fc1: "zfs", 0xf2f52010: "f2fs", 0x65735546: "fuse", 0x01021997: "9p", 0xca451a4e: "bcachefs",
}

func describe(dir string) (kernel, fs string, load int64) {
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		for _, c := range u.Release {
			if c == 0 {
				break
			}
			kernel += string(rune(byte(c)))
		}
	}
	fs = "unknown"
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) == nil {
		magic := int64(st.Type) & 0xffffffff
		if name, ok := fileSystems[magic]; ok {
			fs = name
		} else {
			fs = fmt.Sprintf("type 0x%x", magic)
		}
	}
	return kernel, fs, loadAverage()
}

func loadAverage() int64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	var whole, hundredths int64
	if n, _ := fmt.Sscanf(string(b), "%d.%d", &whole, &hundredths); n != 2 {
		return -1
	}
	return 100*whole + hundredths
}

// canDrop tells that dropPages works.
const canDrop = true

// dropPages takes a file's clean pages out of the page cache.
func dropPages(f *os.File) error {
	if err := f.Sync(); err != nil {
		return err
	}
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	if _, _, errno := syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
