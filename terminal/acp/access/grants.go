package access

import (
	"path/filepath"
	"slices"
	"sync"

	"nanobot/internal/nofollow"
	"nanobot/terminal/acp/view"
)

// grant is a permission that covers later fs and terminal calls of the agent.
type grant struct {
	tool   string // the ID of the tool call that was permitted; "" for the whole session
	method string // execute, edit or read
	every  bool   // covers every call of the method
	// What the question showed: a command with its folder, or a file, without symbolic links, with
	// the changes of it.
	command, folder string
	file            string
	changes         []view.FileDiff
}

// grantsFor returns what the permission for a tool call covers: exactly the command that its
// question showed, in its folder, or exactly the changes, and reading the files that the call
// names. A question that showed no command covers none, and one without changes covers no writing.
func grantsFor(t *view.ToolCall, dir string) (all []grant) {
	if t.Kind == "execute" && t.Input.Command != "" {
		return []grant{{tool: t.ID, method: "execute", command: t.Input.Command, folder: t.Input.FolderOutside(dir)}}
	}
	for _, f := range t.Files {
		all = append(all, grant{tool: t.ID, method: "read", file: f.Real})
		changes := slices.DeleteFunc(slices.Clone(t.Diffs), func(d view.FileDiff) bool { return d.Path != f.Path })
		if len(changes) > 0 && (t.Kind == "edit" || t.Kind == "move") {
			all = append(all, grant{tool: t.ID, method: "edit", file: f.Real, changes: changes})
		}
	}
	return all
}

// covers reports whether the permission covers a call.
func (o *grant) covers(c clientCall) bool {
	switch {
	case o.method != c.tool.Kind:
		return false
	case o.every:
		return true
	case o.method == "execute":
		in := c.tool.Input
		return o.command == in.Command && o.folder == in.Folder && len(c.variables) == 0
	case o.file != c.realPath:
		return false
	}
	return o.method == "read" || c.makes != nil && c.makes(o.changes)
}

// coveredFiles returns the files that a permission for the tool call covers.
func coveredFiles(t *view.ToolCall) (files []view.File) {
	if !slices.Contains([]string{"edit", "move", "read", "search"}, t.Kind) {
		return nil
	}
	paths := slices.Clone(t.Locations)
	for _, d := range t.Diffs {
		if !slices.Contains(paths, d.Path) {
			paths = append(paths, d.Path)
		}
	}
	for _, path := range paths[:min(len(paths), view.MaxLocations)] {
		if !filepath.IsAbs(path) {
			continue
		}
		if real, _, err := nofollow.Resolve(filepath.Clean(path)); err == nil {
			files = append(files, view.File{Path: path, Real: real})
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
	if tool != "" && c.tool.Kind != "read" {
		g.list = slices.Delete(g.list, i, i+1)
	}
	return tool, true
}
