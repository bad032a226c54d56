package confine

import "encoding/json"

// plan is what the helper is told, as JSON, to do to itself before it becomes the program.
type plan struct {
	// Files, if not nil, are all that can be reached from then on, by Landlock.
	Files *files `json:",omitempty"`
	// Domain enters a Landlock domain that forbids only to trace processes outside it, such as the
	// agents of other chats.
	Domain bool `json:",omitempty"`
	// Mounts, if not nil, are made in the mount namespace that the helper was started in, which is
	// its own.
	Mounts *mounts `json:",omitempty"`
	// User, if not nil, is who the helper becomes after that.
	User *ids `json:",omitempty"`
	// Probe ends the helper with "ok" on stdout, once all of this is done.
	Probe bool `json:",omitempty"`
}

func (p plan) String() string {
	b, _ := json.Marshal(p) // there is nothing in it that could not be
	return string(b)
}

// files are grants of Landlock, whose rights add up along a path. So a folder with something in it
// that is not granted is granted entry by entry, and nothing new can be made in it.
type files struct {
	// Paths can be read and written; with ":ro" behind it, only read.
	Paths []string
	// Own can be read and written too, though it may be in something hidden.
	Own []string `json:",omitempty"`
	// Hide is left out; Fix can only be read.
	Hide, Fix []string `json:",omitempty"`
}

// mounts are what differs in the agent's mount namespace. All paths are without links.
type mounts struct {
	// Map is who we are in the user namespace that the helper was started in, too; nil: it has none
	// of its own.
	Map *ids `json:",omitempty"`
	// Hide is empty there, Fix read-only, and Pin cannot be renamed.
	Hide, Fix, Pin []string `json:",omitempty"`
	// Users is empty but for Chat, the chat's own folder in it; "": there is none.
	Users, Chat string `json:",omitempty"`
	// Temps show Temp, the chat's own folder for temporary files.
	Temp  string   `json:",omitempty"`
	Temps []string `json:",omitempty"`
	// Memory gives the agent its own shared memory.
	Memory bool `json:",omitempty"`
	// Cover are folders for temporary files that hold folders which the agent needs: they are empty
	// but for these.
	Cover map[string][]string `json:",omitempty"`
}

// ids say who a process is.
type ids struct {
	UID, GID int
	Groups   []int `json:",omitempty"`
}

// Chat is where one chat's agent keeps its files.
type Chat struct {
	Dir  string // the chat's own folder, in the workspace's users; "": none
	Temp string // for temporary files, in Dir; "": the one that everybody uses
}

// Environ names the folder for temporary files to programs.
func (c Chat) Environ() []string {
	if c.Temp == "" {
		return nil
	}
	return []string{"TMPDIR=" + c.Temp, "TMP=" + c.Temp, "TEMP=" + c.Temp}
}
