package turn_test

import (
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
	"nanobot/terminal"
)

// placedRunner is a runner whose agents work where their messages say.
type placedRunner struct{ *fakeRunner }

func (placedRunner) WorkDir(req terminal.Request) string { return "/work/" + req.Place.Workspace }

func TestTheAuditLogHasTheFolderInWhichAnAgentIsStarted(t *testing.T) {
	for place, want := range map[string]string{"": "/work/", "x": "/work/x"} {
		synctest.Test(t, func(t *testing.T) {
			var started []audit.Launch
			fx := newFixtureWith(t, sayingAgent("hi"), func(o *turn.Options) {
				o.Audit = func(r audit.Record) {
					if r.Event == audit.TurnStart {
						started = append(started, r.Launch)
					}
				}
			})
			agents := defaultAgentOnly(placedRunner{&fx.agent})
			settings := agents[store.DefaultAgent]
			settings.Launch = audit.NewLaunch([]string{"agent"}, "/work/", []string{"HOME"})
			agents[store.DefaultAgent] = settings
			fx.Reload(turn.Settings{Agents: agents, OnCrash: turn.ReportCrash})
			fx.NewTurn(store.Inbound{ID: 7, Agent: store.DefaultAgent, In: channels.Incoming{Chat: ann, ID: "m1", Workspace: place}}, &fx.slot).Run(t.Context())
			fx.stop()
			checkEqual(t, "started in "+place, started, []audit.Launch{audit.NewLaunch([]string{"agent"}, want, []string{"HOME"})})
		})
	}
}
