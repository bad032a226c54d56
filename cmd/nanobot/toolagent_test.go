package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/config"
)

// toolScript is what the test agent is told to do with the tools, as the text of a message.
type toolScript struct {
	Env         []string   `json:"env,omitempty"`      // added to that of nanobot mcp; NAME= removes a variable
	Flags       []string   `json:"flags,omitempty"`    // of nanobot mcp
	Detached    bool       `json:"detached,omitempty"` // call the tools in a process of another session, without a parent and an environment
	Connections int        `json:"connections,omitempty"`
	Calls       []toolCall `json:"calls,omitempty"`
	// Wait is a file: the agent waits for it before the calls.
	Wait string `json:"wait,omitempty"`
}

type toolCall struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args,omitempty"`
}

// withCall is a script with one call.
func (s toolScript) withCall(tool string, args map[string]any) toolScript {
	s.Calls = append(s.Calls, toolCall{tool, args})
	return s
}

func (s toolScript) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// toolAgent is an agent that starts nanobot mcp and calls tools. It prints a line for each answer.
func toolAgent() error {
	var s toolScript
	if err := json.Unmarshal([]byte(os.Getenv(config.TextVariable)), &s); err != nil {
		return err
	}
	if s.Detached {
		s.Detached = false
		return runDetached(s)
	}
	var all sync.WaitGroup
	lines := make(chan string)
	for range max(s.Connections, 1) {
		all.Go(func() { s.runConnection(lines) })
	}
	go func() {
		all.Wait()
		close(lines)
	}()
	for line := range lines {
		fmt.Println(line)
	}
	return nil
}

// runConnection makes one connection and the calls.
func (s toolScript) runConnection(lines chan<- string) {
	cmd := exec.Command(os.Args[0], append([]string{"mcp"}, s.Flags...)...)
	cmd.Env = append(os.Environ(), "NANOBOT_TEST_MAIN=1", "GORACE=atexit_sleep_ms=0")
	cmd.Env = append(slices.DeleteFunc(cmd.Env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return name == "TEST_TOOLS_AGENT" || slices.Contains(s.Env, name+"=")
	}), s.Env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		_ = cmd.Wait()
		lines <- "refused: " + strings.TrimSpace(stderr.String())
		return
	}
	defer func() { _ = session.Close() }()
	for s.Wait != "" {
		if _, err := os.Stat(s.Wait); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	for _, c := range s.Calls {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: c.Args})
		if err != nil {
			lines <- fmt.Sprintf("%s broke: %v %s", c.Tool, err, stderr.String())
			return
		}
		lines <- c.Tool + ": " + result.Content[0].(*mcp.TextContent).Text
	}
}

// runDetached runs the script in another process, whose parent is dead, in a session of its own and
// with no environment but what it needs.
func runDetached(s toolScript) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("setsid", "sh", "-c", `env -i TEST_TOOLS_AGENT=1 GORACE=atexit_sleep_ms=0 NANOBOT_SOCKET="$NANOBOT_SOCKET" NANOBOT_TEXT="$1" "$0" &`, os.Args[0], s.String())
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		return err
	}
	_ = w.Close()
	_, err = io.Copy(os.Stdout, r)
	return err
}
