package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest/fast"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/internal/killtest"
	"nanobot/terminal/acp/acptest"
)

func TestMain(m *testing.M) {
	useTestClock()
	if os.Getenv("TEST_CLOCK_SHOWN") != "" {
		fmt.Println(time.Now().Format(time.RFC3339))
		os.Exit(0)
	}
	if os.Getenv("TEST_ACP_AGENT") != "" {
		os.Exit(acptest.Main(os.Args[1:]))
	}
	if dir := os.Getenv("TEST_ACP_PROXY"); dir != "" {
		os.Unsetenv("TEST_ACP_PROXY") // the agent's own commands may run this binary
		os.Exit(acptest.Proxy(dir, os.Args[1:]))
	}
	if os.Getenv("TEST_FAST_TELEGRAM") != "" {
		os.Exit(fast.Main(os.Stdin, os.Stdout))
	}
	if os.Getenv("TEST_TOOLS_AGENT") != "" {
		if err := toolAgent(); err != nil {
			fmt.Println("the agent failed:", err)
		}
		os.Exit(0)
	}
	if os.Getenv("NANOBOT_TEST_MAIN") != "" {
		os.Unsetenv("NANOBOT_TEST_MAIN")
		if url := os.Getenv("TEST_NETWORK_URL"); url != "" {
			useTestNetwork(url)
		}
		if quiet, err := time.ParseDuration(os.Getenv("TEST_ALBUM_QUIET")); err == nil {
			networks[0] = telegram.Describe(telegram.Timing{Quiet: quiet})
		}
		main()
	}
	testscript.Main(withRuntimeDir{m}, map[string]func(){
		"nanobot": func() {
			if dir := os.Getenv("TEST_BOOTED"); dir != "" {
				systemd.Booted = dir
			}
			os.Exit(run(context.Background(), os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
		},
	})
}

// withRuntimeDir gives all daemons of the tests a folder for their sockets, which is removed at the
// end: one that is killed leaves its socket.
type withRuntimeDir struct{ *testing.M }

// Run runs the tests.
func (m withRuntimeDir) Run() int {
	dir, err := os.MkdirTemp("", "nb") // the path of a socket must be short
	if err == nil {
		err = os.Setenv("XDG_RUNTIME_DIR", dir)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return m.M.Run()
}

// TestScripts drives the real binary; each file in testdata/script is a story.
func TestScripts(t *testing.T) {
	killtest.SkipIfShort(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_CACHE_HOME", env.WorkDir+"/cache")
			// An agent in Go is built; without the user's cache that takes half a minute.
			cache, err := exec.Command("go", "env", "GOCACHE").Output()
			env.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"fails": scriptFails},
	})
}

// scriptFails runs a program that must exit with a certain status: fails STATUS PROGRAM ARG…
func scriptFails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails STATUS PROGRAM ARG…")
	}
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("want exit status %s, got: %v", args[0], err)
	}
}
