package zookeeper

import (
	"reflect"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

func messages() []step.Folder {
	return []step.Folder{
		&ConnectRequest{Endpoint: "h", SessionID: 1, LastZxid: 2, Timeout: kafka.Second},
		&ConnectResponse{SessionID: 1, Timeout: 2},
		&PingRequest{}, &PingResponse{},
		&OpsRequest{Ops: Request{{Type: OpCreate, Path: "/p", Data: []byte("d"), Version: 3, Ephemeral: true}}},
		&OpsResponse{Zxid: 1, Results: []Result{{Code: OK, Path: "/p", Data: []byte("d"), Stat: Stat{Czxid: 1, Mzxid: 2, Version: 3, CVersion: 4, EphemeralOwner: 5, NumChildren: 6}, Children: []string{"a"}}}},
		&SetWatchesRequest{Zxid: 1, Data: []string{"/d"}, Exists: []string{"/e"}, Child: []string{"/c"}},
		&SetWatchesResponse{Zxid: 1},
		&CloseRequest{}, &CloseResponse{Zxid: 1},
		&WatchEvent{Type: Created, Path: "/p"},
	}
}

// TestFoldTellsMessagesApart changes every field in turn, at any depth.
func TestFoldTellsMessagesApart(t *testing.T) {
	seen := map[string]string{}
	for i := range messages() {
		note := func(m step.Folder, what string) {
			fold := string(m.Fold(nil))
			if other, ok := seen[fold]; ok {
				t.Errorf("%s folds like %s", what, other)
			}
			seen[fold] = what
		}
		m := messages()[i]
		note(m, reflect.TypeOf(m).String())
		v := reflect.ValueOf(m).Elem()
		for f := range v.NumField() {
			mutate(v.Field(f), v.Type().Field(f).Name, func(name string) { note(m, v.Type().String()+"."+name) })
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d variants", len(seen))
	}
}

// mutate alters v, or what is in it, calls f and restores it.
func mutate(v reflect.Value, name string, f func(string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			mutate(v.Field(i), name+"."+v.Type().Field(i).Name, f)
		}
	case reflect.Slice:
		if v.Len() > 0 && v.Index(0).Kind() != reflect.Uint8 {
			mutate(v.Index(0), name+"[0]", f)
		}
		old := reflect.ValueOf(v.Interface())
		v.Set(reflect.Append(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, 0), old), reflect.Zero(v.Type().Elem())))
		f(name)
		v.Set(old)
	case reflect.String:
		old := v.String()
		v.SetString(old + "x")
		f(name)
		v.SetString(old)
	case reflect.Bool:
		v.SetBool(!v.Bool())
		f(name)
		v.SetBool(!v.Bool())
	case reflect.Uint8:
		v.SetUint(v.Uint() + 1)
		f(name)
		v.SetUint(v.Uint() - 1)
	default:
		v.SetInt(v.Int() + 1)
		f(name)
		v.SetInt(v.Int() - 1)
	}
}

func TestFoldAppends(t *testing.T) {
	for _, m := range messages() {
		got := m.Fold([]byte("before"))
		if string(got) != "before"+string(m.Fold(nil)) {
			t.Errorf("%T does not append", m)
		}
		if n := step.WireSize(m); n < len(m.Fold(nil)) {
			t.Errorf("%T: wire size %d", m, n)
		}
	}
}
