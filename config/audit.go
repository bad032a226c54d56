package config

import "strings"

// AuditOff is the value of audit.file that disables the audit log.
const AuditOff = "off"

// Audit configures the audit log.
type Audit struct {
	File    string `json:"file" jsonschema_description:"File of the audit log, relative to the workspace, or off. Default: audit.jsonl in gateway.stateDir."`
	MaxSize int    `json:"maxSize" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"Size in MiB at which the file is rotated."`
	Keep    int    `json:"keep" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"Number of rotated files to keep."`
	Text    bool   `json:"text" jsonschema_description:"Also records the text of messages."`
}

// On reports whether the audit log is enabled. A Config that was not loaded has no file name and
// writes no log.
func (a Audit) On() bool { return a.File != "" && a.File != AuditOff }

// resolvePaths makes the path of the log absolute.
func (a *Audit) resolvePaths(workspace, stateDir, home string) {
	switch {
	case strings.TrimSpace(a.File) == "":
		a.File = absolutePath(stateDir, "audit.jsonl", home)
	case a.File != AuditOff:
		a.File = absolutePath(workspace, a.File, home)
	}
}
