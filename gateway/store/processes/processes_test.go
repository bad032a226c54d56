package processes_test

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/gateway/store"
	"nanobot/gateway/store/processes"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func openFile(t *testing.T, path string) *processes.File {
	t.Helper()
	f := musttest.Get(processes.Open(path))(t)
	t.Cleanup(func() { musttest.Do(t, f.Close()) })
	return f
}

func processOf(n int) store.Process { return store.Process{Pid: n, Start: "boot"} }

func TestMessagesAreFilledWhileOthersRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.txt")
	earlier, f := openFile(t, path), openFile(t, path)
	for _, id := range []int64{0, 5, 6} {
		musttest.Do(t, earlier.Record(id, processOf(100+int(id))))
	}
	left := []store.Inbound{{ID: 5}}
	musttest.Do(t, f.Fill(left))
	musttest.Do(t, f.Record(7, processOf(107)))
	f.Remove(5)
	inbounds := []store.Inbound{{ID: 5}, {ID: 6}, {ID: 7}, {ID: 8}}
	musttest.Do(t, f.Fill(inbounds))
	wanttest.Equal(t, "the adopted one", left[0].Process, processOf(105))
	wanttest.Equal(t, "the removed one", inbounds[0].Process, store.Process{})
	wanttest.Equal(t, "the other one", inbounds[1].Process, processOf(106))
	wanttest.Equal(t, "the new one", inbounds[2].Process, processOf(107))
	wanttest.Equal(t, "one of another machine", inbounds[3].Process, store.Process{})
}

func TestTheStartFreesTheLinesOfMessagesThatAreNotRunning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.txt")
	earlier, f := openFile(t, path), openFile(t, path)
	for _, id := range []int64{0, 5, 6} {
		musttest.Do(t, earlier.Record(id, processOf(100+int(id))))
	}
	size := musttest.Get(os.Stat(path))(t).Size()
	running := []store.Inbound{{ID: 6}, {ID: 7}}
	musttest.Do(t, f.Load(running))
	wanttest.Equal(t, "the running one", running[0].Process, processOf(106))
	wanttest.Equal(t, "the one without an agent", running[1].Process, store.Process{Start: "boot"})
	ended := []store.Inbound{{ID: 5}}
	musttest.Do(t, f.Fill(ended))
	wanttest.Equal(t, "the ended one", ended[0].Process, store.Process{})
	musttest.Do(t, f.Record(8, processOf(108)))
	wanttest.Equal(t, "the size", musttest.Get(os.Stat(path))(t).Size(), size)
}

func TestALineThatAFullDiskHasCutShortIsUsedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agents.txt")
	earlier, f := openFile(t, path), openFile(t, path)
	musttest.Do(t, earlier.Record(5, processOf(105)))
	size := musttest.Get(os.Stat(path))(t).Size()
	musttest.Do(t, earlier.Record(6, processOf(106)))
	musttest.Do(t, os.Truncate(path, size+3))
	inbounds := []store.Inbound{{ID: 5}, {ID: 6}}
	musttest.Do(t, f.Load(inbounds))
	musttest.Do(t, f.Record(7, processOf(107)))
	wanttest.Equal(t, "the whole line", inbounds[0].Process, processOf(105))
	wanttest.Equal(t, "the one cut short", inbounds[1].Process, store.Process{})
	wanttest.Equal(t, "the size", musttest.Get(os.Stat(path))(t).Size(), 2*size)
}
