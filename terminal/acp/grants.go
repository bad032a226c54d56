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
	tool   string // the ID of the tool call that was permitted; "" for the whole session
	method string // execute, edit or read
	every  bool   // covers every call of the method
	// What the question showed: a command with its folder, or a file, without symbolic links, with
	// the changes of it.
	command, folder string
	file            string
	changes         []fileDiff
}

// grantsFor returns what the permission for a tool call covers: exactly the command that its
// question showed, in its folder, or exactly the changes, and reading the files that the call
// names. A question that showed no command covers none, and one without changes covers no writing.
func grantsFor(t *toolCall, dir string) (all []grant) {
	if t.kind == "execute" && t.input.command != "" {
		return []grant{{tool: t.id, method: "execute", command: t.input.command, folder: t.input.folderOutside(dir)}}
	}
	for _, f := range t.permissionFiles {
		all = append(all, grant{tool: t.id, method: "read", file: f.real})
		changes := slices.DeleteFunc(slices.Clone(t.diffs), func(d fileDiff) bool { return d.Path != f.path })
		if len(changes) > 0 && (t.kind == "edit" || t.kind == "move") {
			all = append(all, grant{tool: t.id, method: "edit", file: f.real, changes: changes})
		}
	}
	return all
}

// covers reports whether the permission covers a call.
func (o *grant) covers(c clientCall) bool {
	switch {
	case o.method != c.tool.kind:
		return false
	case o.every:
		return true
	case o.method == "execute":
		in := c.tool.input
		return o.command == in.command && o.folder == in.folder && len(c.variables) == 0
	case o.file != c.realPath:
		return false
	}
	return o.method == "read" || c.makes != nil && c.makes(o.changes)
}

// coveredFiles returns the files that a permission for the tool call covers.
func (t *toolCall) coveredFiles() (files []resolvedPath) {
	if !slices.Contains([]string{"edit", "move", "read", "search"}, t.kind) {
		return nil
	}
	paths := slices.Clone(t.locations)
	for _, d := range t.diffs {
		if !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	for _, path := range paths[:min(len(paths), maxLocations)] {
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

// useFor reports whether a call is covered, and returns the tool call that the permission was given
// for. Such a permission covers a command or a change once.
func (g *grants) useFor(c clientCall) (tool string, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.list, func(o grant) bool { return o.covers(c) })
	if i < 0 {
		return "", false
	}
	tool = g.list[i].tool
	if tool != "" && c.tool.kind != "read" {
		g.list = slices.Delete(g.list, i, i+1)
	}
	return tool, true
}
