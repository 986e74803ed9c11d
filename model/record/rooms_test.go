package record

import "testing"

func TestARoomIsTakenOnceUntilAllAreFreeAgain(t *testing.T) {
	var r Rooms
	first, second := r.take(), r.take()
	if &first[:1][0] == &second[:1][0] || cap(first) != roomMax || len(first) != 0 {
		t.Fatal("two logs share a room")
	}
	r.Reuse()
	if again := r.take(); &again[:1][0] != &first[:1][0] || len(again) != 0 {
		t.Error("a free room was not taken again")
	}
}

func TestRoomsThatAreKeptAreBounded(t *testing.T) {
	var r Rooms
	for range maxRooms + 3 {
		if room := r.take(); cap(room) != roomMax {
			t.Fatalf("a room of %d bytes", cap(room))
		}
	}
	if len(r.made) != maxRooms {
		t.Errorf("%d rooms are kept", len(r.made))
	}
}
