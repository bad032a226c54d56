// Package processes records the processes of agents in a file, so that they are found after a crash
// of the daemon. It does not know which inbound messages are running.
package processes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"nanobot/gateway/store"
)

// File is a text file with a line of fixed width for each inbound message whose agent runs, and one
// for the gateway, with the ID 0. It is not part of a database because a process must be recorded
// before it can do much, and because no process survives a crash of the machine: lines are
// overwritten in place and never synced.
type File struct {
	file *os.File

	mu    sync.Mutex
	lines map[int64]int64 // line numbers by inbound message
	free  []int64         // numbers of unused lines
	count int64           // number of lines
}

// lineWidth is the length of a line in bytes: room for two numbers and the start time of a process.
const lineWidth = 128

// Open opens a file, and creates a missing one. Call Load or Fill before the first Record, which
// overwrites the lines of an earlier daemon otherwise.
func Open(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{file: f, lines: map[int64]int64{}}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }

// Record records the process of an inbound message's agent.
func (f *File) Record(id int64, p store.Process) error {
	text := fmt.Sprintf("%d %d %s", id, p.Pid, p.Start)
	if len(text) >= lineWidth {
		return errors.New("its start time is too long")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, known := f.lines[id]
	switch last := len(f.free) - 1; {
	case known:
	case last >= 0:
		n, f.free = f.free[last], f.free[:last]
	default:
		n = f.count
		f.count++
	}
	f.lines[id] = n
	return f.writeLine(n, text)
}

func (f *File) writeLine(n int64, text string) error {
	_, err := f.file.WriteAt(fmt.Appendf(nil, "%-*s\n", lineWidth-1, text), n*lineWidth)
	return err
}

// Remove frees the line of an inbound message that has ended.
func (f *File) Remove(id int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.freeLine(id) // Load frees the lines of messages that are not running
}

func (f *File) freeLine(id int64) error {
	n, known := f.lines[id]
	if !known {
		return nil
	}
	delete(f.lines, id)
	f.free = append(f.free, n)
	return f.writeLine(n, "")
}

// Load fills the processes of all inbound messages that an earlier daemon left running, at the
// start of this one. Without an agent, a message gets the Start of that daemon. All other lines are
// freed, or the next run of their messages would get these processes.
func (f *File) Load(running []store.Inbound) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	recorded, err := f.fill(running)
	if err != nil {
		return err
	}
	gateway := recorded[0]
	delete(recorded, 0)
	for i := range running {
		delete(recorded, running[i].ID)
		if p := &running[i].Process; p.Pid == 0 {
			p.Start = gateway.Start
		}
	}
	for id := range recorded {
		if err := f.freeLine(id); err != nil {
			return err
		}
	}
	return nil
}

// Fill sets the processes of inbound messages as recorded. It may be called while other messages
// run, whose lines stay. A message without a line, as that of another machine, has no process.
func (f *File) Fill(inbounds []store.Inbound) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.fill(inbounds)
	return err
}

// fill sets the processes of inbound messages, and returns all recorded ones. A line that a full
// disk has cut short is free.
func (f *File) fill(inbounds []store.Inbound) (map[int64]store.Process, error) {
	text, err := io.ReadAll(io.NewSectionReader(f.file, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	recorded := map[int64]store.Process{}
	f.lines, f.free, f.count = map[int64]int64{}, nil, 0
	for line := range slices.Chunk(text, lineWidth) {
		var id int64
		var p store.Process
		if _, err := fmt.Sscanf(string(line), "%d %d %s", &id, &p.Pid, &p.Start); err == nil {
			recorded[id], f.lines[id] = p, f.count
		} else {
			f.free = append(f.free, f.count)
		}
		f.count++
	}
	for i := range inbounds {
		inbounds[i].Process = recorded[inbounds[i].ID]
	}
	return recorded, nil
}
