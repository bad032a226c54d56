package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"nanobot/gateway/store"
)

// processFile is a text file with a line of fixed width for each inbound message whose agent runs,
// and one for the gateway. It is not part of the database because a process must be recorded before
// it can do much, and because no process survives a crash of the machine: lines are overwritten in
// place and never synced.
type processFile struct {
	file *os.File

	mu    sync.Mutex
	lines map[int64]int64 // line numbers by inbound message
	free  []int64         // numbers of unused lines
	count int64           // number of lines
}

// processLineWidth is the length of a line in bytes: room for two numbers and the start time of a
// process.
const processLineWidth = 128

func openProcessFile(path string) (*processFile, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &processFile{file: f, lines: map[int64]int64{}}, nil
}

// SetProcess records the process of an inbound message's agent.
func (s inbox) SetProcess(id int64, p store.Process) error {
	if err := s.processes.record(id, p); err != nil {
		return fmt.Errorf("record the process of inbound message %d: %w", id, err)
	}
	return nil
}

func (a *processFile) record(id int64, p store.Process) error {
	text := fmt.Sprintf("%d %d %s", id, p.Pid, p.Start)
	if len(text) >= processLineWidth {
		return errors.New("its start time is too long")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n, known := a.lines[id]
	switch last := len(a.free) - 1; {
	case known:
	case last >= 0:
		n, a.free = a.free[last], a.free[:last]
	default:
		n = a.count
		a.count++
	}
	a.lines[id] = n
	return a.writeLine(n, text)
}

func (a *processFile) writeLine(n int64, text string) error {
	_, err := a.file.WriteAt(fmt.Appendf(nil, "%-*s\n", processLineWidth-1, text), n*processLineWidth)
	return err
}

// remove frees the line of an inbound message that has ended.
func (a *processFile) remove(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, known := a.lines[id]; known {
		delete(a.lines, id)
		a.free = append(a.free, n)
		_ = a.writeLine(n, "") // fillProcesses ignores messages that are not running
	}
}

// fillProcesses sets the processes of running inbound messages as recorded, by this or an earlier
// daemon. All other lines are freed, also those that a full disk has cut short.
func (a *processFile) fillProcesses(inbounds []store.Inbound) error {
	text, err := io.ReadAll(io.NewSectionReader(a.file, 0, 1<<62))
	if err != nil {
		return err
	}
	running := map[int64]*store.Process{}
	for i := range inbounds {
		running[inbounds[i].ID] = &inbounds[i].Process
	}
	var gateway store.Process
	running[0] = &gateway
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines, a.free, a.count = map[int64]int64{}, nil, 0
	for line := range bytes.Lines(text) {
		var id int64
		var p store.Process
		_, err := fmt.Sscanf(string(line), "%d %d %s", &id, &p.Pid, &p.Start)
		if into := running[id]; err == nil && into != nil {
			*into, a.lines[id] = p, a.count
		} else {
			a.free = append(a.free, a.count)
			if err := a.writeLine(a.count, ""); err != nil { // or the next run of the message would get this process
				return err
			}
		}
		a.count++
	}
	for i := range inbounds {
		if p := &inbounds[i].Process; p.Pid == 0 {
			p.Start = gateway.Start
		}
	}
	return nil
}
