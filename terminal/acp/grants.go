package acp

import (
	"path/filepath"
	"slices"
	"sync"

	"nanobot/internal/nofollow"
)

// maxLocations limits the files of a tool call that a permission covers. The question lists all of
// them.
const maxLocations = 20

// resolvedPath is a file that a tool call names: the agent's path, and the path without symbolic
// links.
type resolvedPath struct{ path, real string }

// grant is a permission that covers later fs and terminal calls of the agent.
type grant struct {
	tool      string // the ID of the tool call that was permitted; "" for the whole session
	method    string // execute, edit or read
	everyFile bool   // covers every file
	files     []string
}

// grantsFor returns what the permission for a tool call covers: commands, or writing and reading
// the files that the call names. A call that names no file covers none, and one that only reads
// covers no writing.
func grantsFor(t *toolCall, files []resolvedPath) []grant {
	var real []string
	for _, f := range files {
		real = append(real, f.real)
	}
	switch t.kind {
	case "execute":
		return []grant{{tool: t.id, method: "execute", everyFile: true}}
	case "edit", "move":
		return []grant{{tool: t.id, method: "edit", files: real}, {tool: t.id, method: "read", files: real}}
	case "read", "search":
		return []grant{{tool: t.id, method: "read", files: real}}
	}
	return nil
}

// coveredFiles returns the files that a permission for the tool call covers.
func (t *toolCall) coveredFiles() (files []resolvedPath) {
	if !slices.Contains([]string{"edit", "move", "read", "search"}, t.kind) {
		return nil
	}
	for _, path := range t.locations[:min(len(t.locations), maxLocations)] {
		if !filepath.IsAbs(path) {
			continue
		}
		if real, _, err := nofollow.Resolve(filepath.Clean(path)); err == nil {
			files = append(files, resolvedPath{path, real})
		}
	}
	return files
}

// grants are the permissions in force. The zero value has none.
type grants struct {
	mu   sync.Mutex
	list []grant
}

func (g *grants) add(more ...grant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = append(g.list, more...)
}

// revoke removes the permissions of a tool call.
func (g *grants) revoke(tool string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.list = slices.DeleteFunc(g.list, func(o grant) bool { return o.tool == tool })
}

// find reports whether a call is covered, for the file real unless that is "", and returns the tool
// call that the permission was given for.
func (g *grants) find(method, real string) (tool string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.list {
		if o.method == method && (o.everyFile || real != "" && slices.Contains(o.files, real)) {
			return o.tool, true
		}
	}
	return "", false
}
