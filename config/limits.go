package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits bounds the resources of the agent; 0 means no limit. Terminal.Timeout bounds its run time.
type Limits struct {
	// Memory is in MiB, CPU in seconds.
	Memory    int `json:"memory" jsonschema:"minimum=0,maximum=16777216" jsonschema_description:"Memory in MiB for the agent and its descendants together, or for each process if no cgroup can count them together; 0: no limit."`
	CPU       int `json:"cpu" jsonschema:"minimum=0,maximum=315360000" jsonschema_description:"CPU time in seconds for each process of the agent; 0: no limit."`
	Processes int `json:"processes" jsonschema:"minimum=0,maximum=4194304" jsonschema_description:"Maximum number of processes and threads of the agent; 0: no limit. Needs a cgroup or terminal.user."`
	Files     int `json:"files" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"Maximum number of open files for each process of the agent; 0: no limit."`
}

// ReadOnlySuffix at the end of an entry of terminal.sandboxPaths makes the path read-only.
const ReadOnlySuffix = ":ro"

func checkSandbox(t agentSection) []fault {
	var all []fault
	for name, s := range map[string]string{"sandbox": t.Sandbox, "user": t.User} {
		if isBlank(s) {
			all = append(all, fault{path: t.keyPath(name), text: "must not be blank"})
		}
	}
	for i, path := range t.SandboxPaths {
		if strings.TrimSpace(strings.TrimSuffix(path, ReadOnlySuffix)) == "" {
			all = append(all, fault{path: joinPath(t.keyPath("sandboxPaths"), strconv.Itoa(i)), text: "must be the path of a file or folder"})
		}
	}
	if len(t.SandboxPaths) > 0 && t.Sandbox != "landlock" {
		all = append(all, fault{path: t.keyPath("sandboxPaths"), cause: t.keyPath("sandbox"), text: fmt.Sprintf(`needs %s.sandbox to be "landlock"`, t.dottedKey)})
	}
	return all
}

// resolveSandboxPaths makes the entries of SandboxPaths absolute.
func (t *Terminal) resolveSandboxPaths(workspace, home string) {
	for i, path := range t.SandboxPaths {
		path, readOnly := strings.CutSuffix(path, ReadOnlySuffix)
		t.SandboxPaths[i] = absolutePath(workspace, path, home)
		if readOnly {
			t.SandboxPaths[i] += ReadOnlySuffix
		}
	}
}
