package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"nanobot/gateway/store"
)

// agents is a folder with a file for each item whose agent runs, named by the item. It is beside the database because it must be
// written before an agent has had time to start anything itself, and need not survive what no process survives.
type agents struct{ dir string }

// SetProcess notes the process that works on an item.
func (s *Store) SetProcess(id int64, p store.Process) error {
	if err := os.WriteFile(s.agents.path(id), fmt.Appendf(nil, "%d %s\n", p.Pid, p.Start), 0o600); err != nil {
		return fmt.Errorf("note the process of item %d: %w", id, err)
	}
	return nil
}

func (a agents) path(id int64) string { return filepath.Join(a.dir, strconv.FormatInt(id, 10)) }

// forget removes the note of an item that has ended. If that fails, recall does it.
func (a agents) forget(id int64) { _ = os.Remove(a.path(id)) }

// recall fills in the processes of running items, and removes notes of others.
func (a agents) recall(items []store.Item) error {
	running := map[string]bool{}
	for i := range items {
		running[strconv.FormatInt(items[i].ID, 10)] = true
		b, err := os.ReadFile(a.path(items[i].ID))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		// A note cut short by a full disk names no process.
		if _, err := fmt.Sscanf(string(b), "%d %s\n", &items[i].Process.Pid, &items[i].Process.Start); err != nil {
			items[i].Process = store.Process{}
		}
	}
	entries, err := os.ReadDir(a.dir)
	for _, e := range entries {
		if !running[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(a.dir, e.Name())))
		}
	}
	return err
}
