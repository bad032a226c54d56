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

// agents is a file with a line for each inbound message whose agent runs, and one for the gateway.
// It is beside the database because it must be written before an agent has had time to start much
// itself, and need not survive what no process survives: it is written in place and never synced.
type agents struct {
	file *os.File

	mu    sync.Mutex
	lines map[int64]int64 // by inbound message
	free  []int64         // lines that nobody needs
	count int64           // of all lines
}

// width is how long a line is, with room for two numbers and a process's start.
const width = 128

func openAgents(path string) (*agents, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &agents{file: f, lines: map[int64]int64{}}, nil
}

// SetProcess notes the process that works on an inbound message.
func (s *Store) SetProcess(id int64, p store.Process) error {
	if err := s.agents.set(id, p); err != nil {
		return fmt.Errorf("note the process of inbound message %d: %w", id, err)
	}
	return nil
}

func (a *agents) set(id int64, p store.Process) error {
	text := fmt.Sprintf("%d %d %s", id, p.Pid, p.Start)
	if len(text) >= width {
		return errors.New("its start does not fit")
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
	return a.write(n, text)
}

func (a *agents) write(n int64, text string) error {
	_, err := a.file.WriteAt(fmt.Appendf(nil, "%-*s\n", width-1, text), n*width)
	return err
}

// forget frees the line of an inbound message that has ended.
func (a *agents) forget(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n, known := a.lines[id]; known {
		delete(a.lines, id)
		a.free = append(a.free, n)
		_ = a.write(n, "") // an ended inbound is not asked for
	}
}

// recall fills in the processes of running inbound messages as they were noted last, by whomever.
// Other lines are freed: a line cut short by a full disk names no process.
func (a *agents) recall(inbounds []store.Inbound) error {
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
			if err := a.write(a.count, ""); err != nil { // or it would be read for the inbound's next run
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
