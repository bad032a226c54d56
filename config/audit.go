package config

import "strings"

// AuditOff is what audit.file says when nothing is to be written down.
const AuditOff = "off"

// Audit configures the record of who started what.
type Audit struct {
	File    string `json:"file" jsonschema_description:"File of the audit log, relative to the workspace, or off. Default: audit.jsonl in gateway.stateDir."`
	MaxSize int    `json:"maxSize" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"Size in MiB at which the file is rotated."`
	Keep    int    `json:"keep" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"How many rotated files are kept."`
	Text    bool   `json:"text" jsonschema_description:"Also records the text of messages."`
}

// On reports whether there is to be a record. A configuration that was made up and not loaded names
// no file.
func (a Audit) On() bool { return a.File != "" && a.File != AuditOff }

// resolvePaths makes the path absolute. That of a log that is off stays as it is.
func (a *Audit) resolvePaths(workspace, stateDir, home string) {
	switch {
	case strings.TrimSpace(a.File) == "":
		a.File = absolute(stateDir, "audit.jsonl", home)
	case a.File != AuditOff:
		a.File = absolute(workspace, a.File, home)
	}
}
