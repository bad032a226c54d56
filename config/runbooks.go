package config

import (
	"path/filepath"
	"strings"
)

// Runbooks configures the procedures whose steps must be proved.
type Runbooks struct {
	Folder string `json:"folder" jsonschema:"minLength=1" jsonschema_description:"The folder of the runbooks, *.md, relative to the workspace. An agent in a sandbox can read it and not change it."`
}

// checkRunbooks refuses a folder that the agent works in, because it is kept from the agent.
func checkRunbooks(c *Config) []fault {
	folder := strings.TrimSpace(c.Runbooks.Folder)
	at := key("runbooks.folder")
	if folder == "" {
		return []fault{{path: at, want: "must be a folder"}}
	}
	if clean := filepath.Clean(folder); clean == "." || clean == ".." || strings.HasSuffix(clean, "/..") {
		return []fault{{path: at, want: "must not be the workspace or a folder around it, because agents cannot change what is in it"}}
	}
	return nil
}
