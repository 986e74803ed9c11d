package record

// Rooms are large pieces of memory for the batches of logs, which the logs of one run
// after another put theirs into: a run then need not make and clear them. The zero value
// is ready.
type Rooms struct {
	made [][]byte
	next int // of made; those before it are taken
}

// maxRooms bounds what is kept: 8 MiB. What a run needs beyond it is not used again.
const maxRooms = 128

// take is an empty piece of roomMax bytes.
func (r *Rooms) take() []byte {
	if r == nil || r.next == maxRooms {
		return make([]byte, 0, roomMax)
	}
	if r.next == len(r.made) {
		r.made = append(r.made, make([]byte, 0, roomMax))
	}
	r.next++
	return r.made[r.next-1]
}

// Reuse makes all pieces free again: nobody reads the batches in them any more.
func (r *Rooms) Reuse() { r.next = 0 }
