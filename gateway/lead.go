package gateway

import (
	"context"
	"slices"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/gateway/beat"
	"nanobot/gateway/retry"
	"nanobot/gateway/store"
	"nanobot/gateway/turn"
)

// phase is the part of its life that a member is in. Only lead changes it.
type phase int32

// The phases, in their order. The only member of a store goes through them, too.
const (
	starting  phase = iota // recovers from an earlier run
	following              // claims turns; another member leads
	leading                // receives, too
	resigning              // claims nothing, and leads until nothing is received any more
	resigned               // claims nothing; another member may lead
	ending                 // the same, and still serves the page, on which people see how the last turns end
)

// inPhase reports whether the member is in one of some phases.
func (g *Gateway) inPhase(some ...phase) bool { return slices.Contains(some, phase(g.phase.Load())) }

func (g *Gateway) enter(p phase) { g.phase.Store(int32(p)) }

// lead receives from the time when this member becomes the leader until it is drained. It returns
// when ctx has ended and nothing is received any more.
func (g *Gateway) lead(ctx context.Context, beats, forPairing, forLabels beat.Listener) error {
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	var work errgroup.Group
	for {
		select {
		case b := <-beats:
			g.stopTurns(b.Stopped)
			switch {
			case g.inPhase(resigned):
			case b.Draining:
				stop()
				if err := g.resign(&work, resigned); err != nil {
					return err
				}
			case b.Leader && !g.inPhase(leading):
				g.enter(leading)
				g.startReceiving(receiving, &work, forPairing, forLabels)
			case g.inPhase(starting):
				g.enter(following)
			}
			if b.Claimable {
				g.lanes.Wake()
			}
		case <-ctx.Done():
			return g.resign(&work, ending)
		}
	}
}

// resign gives up the leadership when nothing is received any more, and enters a phase, which is
// resigned if this member did not lead.
func (g *Gateway) resign(work *errgroup.Group, then phase) error {
	if g.inPhase(leading) {
		g.enter(resigning)
	} else {
		then = resigned
	}
	defer g.enter(then)
	return work.Wait()
}

// adoptLater adopts the work of members that are gone, until ctx ends. It may have to wait for
// networks, which must not delay this member as the next leader.
func (g *Gateway) adoptLater(ctx context.Context, beats beat.Listener) {
	for {
		select {
		case b := <-beats:
			if b.Adoptable && g.adopt(ctx) {
				g.outbox.Sweep()
				g.lanes.Wake()
			}
		case <-ctx.Done():
			return
		}
	}
}

// stopTurns ends turns that an operator has stopped at another member.
func (g *Gateway) stopTurns(inbounds []int64) {
	for _, t := range g.lanes.RunningTurns() {
		if slices.Contains(inbounds, t.Inbound().ID) && !t.AgentEnded() {
			t.Cancel(turn.ErrStopped)
		}
	}
}

// startReceiving starts the work that only the leader does, until ctx ends.
func (g *Gateway) startReceiving(ctx context.Context, work *errgroup.Group, forPairing, forLabels beat.Listener) {
	g.lanes.Wake()
	work.Go(func() error { return g.intake.WelcomeAdmitted(ctx, forPairing) })
	work.Go(func() error { return g.announceUnserved(ctx, forLabels) })
	work.Go(func() error { return g.prune(ctx) })
	work.Go(func() error { g.schedules.Run(ctx); return nil })
	for name, ch := range g.o.Channels {
		work.Go(func() error { return g.listen(ctx, name, ch) })
	}
}

// resumeSends sends what waits to be sent, except to people who have lost access, until ctx ends.
func (g *Gateway) resumeSends(ctx context.Context) error {
	err := retry.Until(ctx, func() error { return g.access.DismissUnadmitted(ctx) }, func(err error) {
		g.o.Log.Error("cannot look for revoked access, will retry", zap.Error(err))
	})
	if err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	return g.outbox.Resume(ctx)
}

// claims says which messages this member may claim: those of agents whose labels it has. Messages
// on a channel that shows its chats itself are for the leader, to which people are connected.
func (g *Gateway) claims() (c store.ClaimRequest, ok bool) {
	if !g.inPhase(following, leading) {
		return c, false
	}
	c.ExceptAgents = g.settings.Load().otherAgents
	if !g.inPhase(leading) {
		for name, ch := range g.o.Channels {
			if _, shows := ch.(channels.Streamer); shows {
				c.ExceptChannels = append(c.ExceptChannels, name)
			}
		}
	}
	return c, true
}

// keepsAgent reports whether this member has an agent or commands of a chat.
func (g *Gateway) keepsAgent(chat string) bool {
	for _, agent := range g.currentSettings().Agents {
		if _, idle := agent.Runner.IdleAgents()[chat]; idle || len(agent.Runner.LeftCommands(chat)) > 0 {
			return true
		}
	}
	return false
}

// Standby reports whether this member leaves the requests of people and networks to the leader.
func (g *Gateway) Standby() bool {
	return g.inPhase(following, resigned) || g.inPhase(starting) && g.shared
}
