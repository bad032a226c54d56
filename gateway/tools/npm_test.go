//go:build agents

package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/agentstest"
)

// TestTheClientFromNPMCallsEveryTool does so for a chat and without one.
func TestTheClientFromNPMCallsEveryTool(t *testing.T) {
	modules := agentstest.MCPClient(t)
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	chat := fx.inChat(&fakeChat{name: "web:1", ask: func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{Text: "a", By: "web:7"}, nil
	}})
	chat.Decide = func(ctx context.Context, run string, step int) error {
		_, _, err := runbook.Transition(ctx, fx.runs(), run, runbook.Approve, runbook.Approval{Step: step, By: "web:7"})
		return err
	}
	for calls, o := range map[int]tools.Options{9: fx.options(), 14: chat} {
		l := musttest.Get(net.Listen("unix", filepath.Join(t.TempDir(), "s")))(t)
		served := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				err = tools.Serve(t.Context(), conn, o)
			}
			served <- err
		}()
		cmd := exec.CommandContext(t.Context(), "node", "testdata/client.mjs", modules, l.Addr().String())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		_ = l.Close()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != calls {
			t.Errorf("%d calls, not %d: %s", len(lines), calls, out)
		}
		for _, line := range lines {
			var got struct {
				Name    string
				IsError bool
				Result  map[string]any
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.IsError && got.Result["error"] != "DUPLICATE_CHAIN" || got.Result["error_code"] != nil {
				t.Errorf("%s (%v)", line, err)
			}
		}
	}
}
