package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// File returns the absolute path of the config file, or "" if there is none.
func (c *Config) File() string { return c.file }

// resolvePaths makes every path absolute and sets the paths whose defaults depend on the file's
// folder.
func (c *Config) resolvePaths(path string, environ []string) error {
	abs, err := filepath.Abs(path) // the current folder if path is ""
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	folder := abs
	if path != "" {
		c.file, folder = abs, filepath.Dir(abs)
	}
	home := lookupVariable(environ, "HOME")
	c.Workspace = absolutePath(folder, c.Workspace, home)
	for _, agent := range c.agentSections() {
		agent.resolvePaths(c.Workspace, home)
	}
	if c.Gateway.StateDir == "" {
		// STATE_DIRECTORY is a list if StateDirectory= in the unit is one.
		c.Gateway.StateDir, _, _ = strings.Cut(lookupVariable(environ, "STATE_DIRECTORY"), ":")
	}
	own, err := c.resolveMember()
	if err != nil {
		return err
	}
	if c.Gateway.StateDir == "" {
		c.Gateway.StateDir = own
	}
	c.Gateway.StateDir = absolutePath(c.Workspace, c.Gateway.StateDir, home)
	c.Audit.resolvePaths(c.Workspace, c.Gateway.StateDir, home)
	if strings.TrimSpace(c.Gateway.Record) != "" {
		c.Gateway.Record = absolutePath(c.Gateway.StateDir, c.Gateway.Record, home)
	}
	c.Runbooks.Folder = absolutePath(c.Workspace, c.Runbooks.Folder, home)
	c.resolveSecretPaths(folder, home)
	c.eachChannel(func(_ Scope, s ChannelSettings) {
		if files, ok := s.(interface {
			ResolvePaths(absolute func(string) string)
		}); ok {
			files.ResolvePaths(func(p string) string { return absolutePath(folder, p, home) })
		}
	})
	for _, h := range c.Hooks {
		if file := h.TemplateFile(); file != "" {
			h.Template = templateFilePrefix + absolutePath(folder, file, home)
		}
	}
	return nil
}

// resolvePaths makes the paths of an agent absolute.
func (t *Terminal) resolvePaths(workspace, home string) {
	if t.Cwd != "" {
		t.Cwd = absolutePath(workspace, t.Cwd, home)
	}
	for i, root := range t.MediaRoots {
		t.MediaRoots[i] = absolutePath(workspace, root, home)
	}
	t.resolveSandboxPaths(workspace, home)
}

// resolveSecretPaths makes the paths of file: references absolute.
func (c *Config) resolveSecretPaths(folder, home string) {
	walkSecrets(reflect.ValueOf(c).Elem(), nil, func(_ []string, v reflect.Value) {
		if kind, name := v.Interface().(Secret).reference(); kind == "file" {
			v.SetString("file:" + absolutePath(folder, name, home))
		}
	})
}

// absolutePath resolves a path relative to a folder. It expands a leading ~ if home is not empty.
func absolutePath(folder, path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// lookupVariable returns the value of a variable in a list such as os.Environ(), or "".
func lookupVariable(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
