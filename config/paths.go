package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// File returns the absolute path of the file that the configuration was loaded from, or "".
func (c *Config) File() string { return c.file }

// resolvePaths makes every path absolute and fills in what depends on where the file is.
func (c *Config) resolvePaths(path string, environ []string) error {
	abs, err := filepath.Abs(path) // of "": the current folder
	if err != nil {
		return fmt.Errorf("find the current folder: %w", err)
	}
	folder := abs
	if path != "" {
		c.file, folder = abs, filepath.Dir(abs)
	}
	home := lookup(environ, "HOME")
	c.Workspace = absolute(folder, c.Workspace, home)
	for _, agent := range c.agentSections() {
		agent.resolvePaths(c.Workspace, home)
	}
	if c.Gateway.StateDir == "" {
		// systemd lists several when StateDirectory= does.
		c.Gateway.StateDir, _, _ = strings.Cut(lookup(environ, "STATE_DIRECTORY"), ":")
	}
	if c.Gateway.StateDir == "" {
		c.Gateway.StateDir = ".nanobot"
	}
	c.Gateway.StateDir = absolute(c.Workspace, c.Gateway.StateDir, home)
	c.Audit.resolvePaths(c.Workspace, c.Gateway.StateDir, home)
	c.Runbooks.Folder = absolute(c.Workspace, c.Runbooks.Folder, home)
	c.resolveSecretPaths(folder, home)
	return nil
}

// resolvePaths makes the paths of an agent absolute.
func (t *Terminal) resolvePaths(workspace, home string) {
	if t.Cwd != "" {
		t.Cwd = absolute(workspace, t.Cwd, home)
	}
	for i, root := range t.MediaRoots {
		t.MediaRoots[i] = absolute(workspace, root, home)
	}
	t.resolveSandboxPaths(workspace, home)
}

// resolveSecretPaths makes file: references absolute.
func (c *Config) resolveSecretPaths(folder, home string) {
	secrets(reflect.ValueOf(c).Elem(), nil, func(_ []string, v reflect.Value) {
		if kind, name := v.Interface().(Secret).reference(); kind == "file" {
			v.SetString("file:" + absolute(folder, name, home))
		}
	})
}

// absolute resolves a path from a folder, and ~ from the home folder if there is one.
func absolute(folder, path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// lookup finds a variable in a list such as os.Environ's.
func lookup(environ []string, name string) string {
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}
