package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nanobot/terminal"
)

var _ terminal.Inspector = (*Protocol)(nil)

// Inspect returns what is known of the agent that was initialized last.
func (p *Protocol) Inspect(env terminal.ExecEnv) terminal.Facts {
	// A Node that the agent could replace is not run with the rights of the caller.
	confined := p.cfg.User != "" || p.cfg.Sandbox != "" && p.cfg.Sandbox != "none"
	facts := terminal.Facts{Node: nodeVersions(p.cfg.Command, env, confined)}
	if said := p.lastInit.Load(); said != nil {
		facts.Agent = terminal.OneLine(said.Info.Name+" "+said.Info.Version, 100)
		facts.WithoutTools = quirksOf(said.Info.Name).withoutTools
	}
	return facts
}

// nodeTimeout is how long Node has to say its version.
const nodeTimeout = 5 * time.Second

// nodeVersions returns the versions of Node that the package of a command needs, and the one that
// it gets unless the agent is confined; "" if no word of the command belongs to a package that says
// so.
func nodeVersions(command string, env terminal.ExecEnv, confined bool) string {
	for _, word := range strings.Fields(command) {
		if slices.Contains([]string{"npx", "npm", "pnpm", "bunx"}, filepath.Base(word)) {
			return "" // they start a package of another name
		}
		path, err := filepath.EvalSymlinks(programPath(strings.Trim(word, `"'`), env))
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		needed := nodeEngine(filepath.Dir(path))
		if needed == "" || confined {
			if needed != "" {
				return needed
			}
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), nodeTimeout)
		defer cancel()
		here := exec.CommandContext(ctx, programPath("node", env), "--version")
		here.Env = env.Env
		got, err := here.Output()
		if err != nil {
			return needed
		}
		return fmt.Sprintf("%s (here: %s)", needed, terminal.OneLine(string(got), 30))
	}
	return ""
}

// nodeEngine returns the versions of Node that the package of a folder needs, or "".
func nodeEngine(dir string) string {
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		var pkg struct {
			Engines struct {
				Node string `json:"node"`
			} `json:"engines"`
		}
		if data, err := os.ReadFile(filepath.Join(dir, "package.json")); err == nil {
			_ = json.Unmarshal(data, &pkg) // an invalid file says nothing
			return terminal.OneLine(pkg.Engines.Node, 60)
		}
	}
	return ""
}

// assessTrial passes if the agent has opened a session.
func assessTrial(t *terminal.Trial) terminal.Finding {
	for _, f := range t.Frames {
		if f.Kind != terminal.Error {
			continue
		}
		fix := t.ByHand + "; an agent that wants you to sign in says how"
		if f.Code == codeSignIn {
			fix = "sign in with nanobot login, or as the agent says"
		}
		return terminal.Finding{
			Verdict: terminal.Bad, Detail: "no session: " + f.Text + describeFacts(t) + t.StderrSuffix(), Fix: fix,
		}
	}
	if t.Outcome.Status != terminal.Done {
		return terminal.Finding{Verdict: terminal.Bad, Detail: "no session: the agent has " + string(t.Outcome.Status) +
			describeFacts(t) + t.StderrSuffix(), Fix: t.ByHand}
	}
	found := terminal.Finding{Detail: fmt.Sprintf("acp: initialized and opened a session without sign-in in %s%s",
		t.Took.Round(time.Millisecond), describeFacts(t))}
	if t.Tools == nil {
		return found
	}
	if *t.Tools {
		found.Detail += "; has connected to nanobot's tools"
		return found
	}
	found.Detail += "; has not connected to nanobot's tools yet"
	if why := t.Facts.WithoutTools; why != "" {
		found.Verdict, found.Fix = terminal.Doubtful, why
	}
	return found
}

// describeFacts returns the known facts, each after a semicolon.
func describeFacts(t *terminal.Trial) (text string) {
	if t.Facts.Agent != "" {
		text += "; " + t.Facts.Agent
	}
	if t.Facts.Node != "" {
		text += "; needs Node " + t.Facts.Node
	}
	return text
}
