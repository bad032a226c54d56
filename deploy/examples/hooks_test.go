package examples_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/gateway/hooks"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheTemplatesOfHooksSayWhatHappened(t *testing.T) {
	for _, c := range []struct{ template, body, event, want string }{
		{"github.tmpl", "github-push.json", "push", "**octo\\-org/hello\\-world**: mona pushed 2 commits to refs/heads/main\n\n- Fix \\*all\\* of \\_\\_init\\_\\_ for \\@\u200beveryone (Mona Lisa)\n- Update README (Mona Lisa)\n\n[Compare](https\\://github\\.com/octo\\-org/hello\\-world/compare/6113728f27ae\\.\\.\\.59b20b8d5c6f)"},
		{"github.tmpl", "github-pull_request.json", "pull_request", "**octo\\-org/hello\\-world**: hubot opened [Say \\[hello\\]\\(http\\://x\\.example\\) in more languages](https\\://github\\.com/octo\\-org/hello\\-world/pull/12) (+31 −4)"},
		{"github.tmpl", "github-workflow_run.json", "workflow_run", "❌ **octo\\-org/hello\\-world**: [Build](https\\://github\\.com/octo\\-org/hello\\-world/actions/runs/30433642) on main: failure"},
		{"github.tmpl", "github-pull_request.json", "ping", ""},
		{"alertmanager.tmpl", "alertmanager.json", "", "🔥 **InstanceDown** db1\\.example\\.org\\:9100 (critical)\ndb1 has been down for 5 minutes\n[Source](http\\://prometheus\\.example\\.org\\:9090/graph?g0\\.expr=up\\+%3D%3D\\+0\\&g0\\.tab=1)\n\n✅ **InstanceDown** db2\\.example\\.org\\:9100\ndb2 is \\_back\\_\n[Source](http\\://prometheus\\.example\\.org\\:9090/graph?g0\\.expr=up\\+%3D%3D\\+0\\&g0\\.tab=1)"},
		{"grafana.tmpl", "grafana.json", "", "🔥 **High memory usage**\ndb1 uses 92 % of its memory\nB = 92\\.25\nC = 1\n[Rule](https\\://grafana\\.example\\.org/alerting/grafana/1afz29v7z/view) · [Dashboard](https\\://grafana\\.example\\.org/d/abc) · [Silence](https\\://grafana\\.example\\.org/alerting/silence/new?alertmanager=grafana\\&matcher=zone%3Deu\\-1)"},
		{"plain.tmpl", "plain.txt", "", "backup of db1 took 3m\\_12s and \\*failed\\*"},
	} {
		template := musttest.Get(hooks.ParseTemplate(string(musttest.Get(os.ReadFile(filepath.Join("hooks", c.template)))(t))))(t)
		got := ""
		handler := hooks.New(hooks.Options{
			Hooks: func() map[string]hooks.Hook {
				return map[string]hooks.Hook{"x": {Auth: hooks.Bearer, Secret: "s", Chat: channels.Chat{Channel: "net", ID: "1"}, Template: template, MaxBody: 1 << 20}}
			},
			Accept: func(_ context.Context, m hooks.Message) (bool, error) {
				got = m.FailedLine + m.Text
				return false, nil
			},
			Log: zap.NewNop(),
		})
		r := httptest.NewRequest(http.MethodPost, "/hooks/x", strings.NewReader(string(musttest.Get(os.ReadFile(filepath.Join("hooks/testdata", c.body)))(t))))
		r.Header.Set("Authorization", "Bearer s")
		r.Header.Set("X-GitHub-Event", c.event)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		wanttest.Equal(t, "status of "+c.body, w.Code, http.StatusAccepted)
		wanttest.Equal(t, c.template+" with "+c.body, strings.TrimSpace(got), c.want)
	}
}
