package acp

import (
	"path/filepath"
	"slices"
	"sync"

	"nanobot/internal/nofollow"
)

// maxLocations is how many files of a tool call a permission covers. A question shows them all.
const maxLocations = 20

// place is a file that a tool call names: as the agent calls it, and where that leads without
// links.
type place struct{ path, real string }

// grant is a permission that covers later calls of methods that we carry out for the agent.
type grant struct {
	tool   string // the id of the tool call that it was given for; "": of none
	method string // execute, edit or read, as ownKinds says
	all    bool   // for every file
	files  []string
}

// grantsOf is what the permission for a tool call covers: commands, or writing and reading the
// files that it names. A tool call that names no file covers none, and one that only reads covers
// no writing.
func grantsOf(t *tool, files []place) []grant {
	var real []string
	for _, f := range files {
		real = append(real, f.real)
	}
	switch t.kind {
	case "execute":
		return []grant{{tool: t.id, method: "execute", all: true}}
	case "edit", "move":
		return []grant{{tool: t.id, method: "edit", files: real}, {tool: t.id, method: "read", files: real}}
	case "read", "search":
		return []grant{{tool: t.id, method: "read", files: real}}
	}
	return nil
}

// places returns the files that a tool call names, for those that a permission for it covers.
func (t *tool) places() (files []place) {
	if !slices.Contains([]string{"edit", "move", "read", "search"}, t.kind) {
		return nil
	}
	for _, path := range t.locations[:min(len(t.locations), maxLocations)] {
		if !filepath.IsAbs(path) {
			continue
		}
		if real, _, err := nofollow.Resolve(filepath.Clean(path)); err == nil {
			files = append(files, place{path, real})
		}
	}
	return files
}

// grants are permissions that are open. The zero value has none.
type grants struct {
	mu   sync.Mutex
	open []grant
}

func (g *grants) add(more ...grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, more...)
}

// close ends what was granted for a tool call.
func (g *grants) close(tool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = slices.DeleteFunc(g.open, func(o grant) bool { return o.tool == tool })
}

// cover reports whether a call is covered, of a file if real is not "", and says for which tool
// call that was granted.
func (g *grants) cover(method, real string) (tool string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.open {
		if o.method == method && (o.all || real != "" && slices.Contains(o.files, real)) {
			return o.tool, true
		}
	}
	return "", false
}
