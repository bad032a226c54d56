// Command goagent says how it is in the sandbox of a unit.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

func can(path string) string {
	if os.WriteFile(path, []byte("x"), 0o600) != nil {
		return "not written"
	}
	return "written"
}

func main() {
	line, _ := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var envelope struct {
		Dir string `json:"user_data_dir"`
	}
	if err := json.Unmarshal(line, &envelope); err != nil {
		panic(err)
	}
	secrets := "none"
	for _, v := range os.Environ() {
		for _, prefix := range []string{"NOTIFY_", "WATCHDOG_", "CREDENTIALS_", "NANOBOT_CHANNELS"} {
			if strings.HasPrefix(v, prefix) {
				secrets = "some"
			}
		}
	}
	root, cores, network := "no", "none", "yes"
	if os.Getuid() == 0 {
		root = "yes"
	}
	if runtime.NumCPU() > 0 {
		cores = "some"
	}
	if all, err := net.Interfaces(); err != nil || len(all) == 0 {
		network = fmt.Sprint("no: ", err)
	}
	text := fmt.Sprintf("workspace: %s, system: %s, secrets in the environment: %s, root: %s, cores: %s, network: %s, code as it runs: yes",
		can(filepath.Join(envelope.Dir, "x")), can("/etc/x"), secrets, root, cores, network)
	_ = json.NewEncoder(os.Stdout).Encode(map[string]string{"type": "message", "text": text})
}
