package sandbox

import (
	"encoding/json"
	"syscall"
)

// helperPlan is the JSON argument of the helper: what the helper does to itself before it executes
// the program.
type helperPlan struct {
	// Files, if not nil, lists the files that stay accessible under Landlock.
	Files *landlockFiles `json:",omitempty"`
	// Domain enters a Landlock domain whose only effect is that processes outside it, such as the
	// agents of other chats, cannot be traced, and that their abstract sockets cannot be connected.
	Domain bool `json:",omitempty"`
	// Mounts, if not nil, describes the mounts to make in the helper's own mount namespace.
	Mounts *mounts `json:",omitempty"`
	// User, if not nil, is the user to which the helper switches after making the mounts.
	User *syscall.Credential `json:",omitempty"`
	// Limits are the rlimits to set.
	Limits Limits `json:",omitzero"`
	// Program is the path of the program, if it differs from argv[0].
	Program string `json:",omitempty"`
	// Probe makes the helper print probeOutput and exit after these steps.
	Probe bool `json:",omitempty"`
}

func (p helperPlan) String() string {
	b, _ := json.Marshal(p) // all field types can be encoded
	return string(b)
}

// landlockFiles lists files to grant by Landlock. Grants are inherited by everything below a folder
// and cannot be revoked there, so a folder that contains a hidden file is granted entry by entry,
// and the agent cannot create files directly in it.
type landlockFiles struct {
	// Paths can be read and written; the suffix ":ro" makes one read-only.
	Paths []string
	// Own can be read and written even where a parent folder is hidden.
	Own []string `json:",omitempty"`
	// Hide is not granted, ReadOnly only for reading.
	Hide     []string `json:",omitempty"`
	ReadOnly []string `json:"Fix,omitempty"`
	// Socket can be connected; "": none.
	Socket string `json:",omitempty"`
}

// mounts describes how the agent's mount namespace differs from ours. No path contains a symbolic
// link.
type mounts struct {
	// Map is the identity mapping for the user namespace of the helper; nil: the helper has no user
	// namespace of its own.
	Map *syscall.Credential `json:",omitempty"`
	// Hide is covered by an empty mount, ReadOnly is mounted read-only, and Pin cannot be renamed.
	Hide, Pin []string `json:",omitempty"`
	ReadOnly  []string `json:"Fix,omitempty"`
	// Users is the parent of all chat folders. It is empty except for Chat, the folder of this
	// chat; "": there is none.
	Users, Chat string `json:",omitempty"`
	// Temp, the temporary folder of the chat, is mounted on each of Temps.
	Temp  string   `json:",omitempty"`
	Temps []string `json:",omitempty"`
	// Memory mounts an own /dev/shm.
	Memory bool `json:",omitempty"`
	// Cover maps shared folders for temporary files and sockets to the paths below them that the
	// agent needs. Everything else in them is hidden.
	Cover map[string][]string `json:",omitempty"`
}

// ChatDirs are the folders of one chat's agent.
type ChatDirs struct {
	Dir  string // the chat's folder, {workspace}/users/{chat id}; "": none
	Temp string // its temporary folder, in Dir; "": the system's shared one
}

// Environ returns the environment variables that select the temporary folder.
func (c ChatDirs) Environ() []string {
	if c.Temp == "" {
		return nil
	}
	return []string{"TMPDIR=" + c.Temp, "TMP=" + c.Temp, "TEMP=" + c.Temp}
}
