package config

import (
	"path/filepath"
	"strings"
)

// Runbooks configures runbooks.
type Runbooks struct {
	Folder string `json:"folder" jsonschema:"minLength=1" jsonschema_description:"Folder with the runbooks (*.md), relative to the workspace. An agent in a sandbox can read it but not change it."`
	// Approvers and AgentShell decide which proofs of a step are accepted.
	Approvers  []string `json:"approvers" jsonschema_description:"People who may approve steps of runbooks, as channel:userid, such as telegram:123456. Empty: everybody who may talk to the bot."`
	AgentShell string   `json:"agentShell" jsonschema:"enum=trust,enum=check" jsonschema_description:"Whether nanobot trusts an agent that reports exit status 0 for a step's command, or runs the command itself to check."`
}

func checkRunbooks(c *Config) []fault {
	return append(checkRunbookFolder(c), checkApprovers(c, splitKey("runbooks.approvers"), c.Runbooks.Approvers)...)
}

// checkRunbookFolder rejects the workspace and folders above it, because a sandbox makes the
// runbook folder read-only for agents.
func checkRunbookFolder(c *Config) []fault {
	folder := strings.TrimSpace(c.Runbooks.Folder)
	at := splitKey("runbooks.folder")
	if folder == "" {
		return []fault{{path: at, text: "must be the path of a folder"}}
	}
	if clean := filepath.Clean(folder); clean == "." || clean == ".." || strings.HasSuffix(clean, "/..") {
		return []fault{{path: at, text: "must not be the workspace or a folder above it, because agents in a sandbox cannot change its files"}}
	}
	return nil
}
