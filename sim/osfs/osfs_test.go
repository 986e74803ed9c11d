package osfs

import (
	"testing"

	"github.com/simkafka/simkafka/model/vfs"
	"github.com/simkafka/simkafka/model/vfs/vfstest"
)

func TestLawsOfVFS(t *testing.T) {
	vfstest.Run(t, func(t *testing.T) vfs.FS { return New(t.TempDir()) })
}
