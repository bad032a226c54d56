package blocks

import (
	"encoding/json"
	"os"
)

// Changes are the files that a session has touched.
type Changes struct{ changes }

// NewChanges returns the changes of a session; list is their JSON in the session file.
func NewChanges(w Workspace, copies *os.Root, list []byte) (*Changes, error) {
	c := &Changes{changes{workspace: w.workspace, copies: copies}}
	if list == nil {
		return c, nil
	}
	return c, json.Unmarshal(list, &c.list)
}

// List returns the changes as JSON for the session file.
func (c *Changes) List() ([]byte, error) { return json.Marshal(c.list) }

func (c *Changes) Save(path string) error { return c.save(path) }

func (c *Changes) Record(path string) error { return c.record(path) }

// Summary names the files that the session has created, changed and deleted.
func (c *Changes) Summary() [3][]string {
	created, changed, deleted := c.summary()
	return [3][]string{created, changed, deleted}
}

func (c *Changes) Diff(limit int64) (text string, omitted int) { return c.diff(limit) }

// Undone is what Undo has done; Refused has the reasons by path.
type Undone struct {
	Restored, Removed []string
	Refused           map[string]string
}

// Undo undoes the changes.
func (c *Changes) Undo() Undone {
	done := c.undo()
	out := Undone{Restored: done.restored, Removed: done.removed, Refused: map[string]string{}}
	for _, r := range done.refused {
		out.Refused[r.path] = r.reason.Error()
	}
	return out
}
