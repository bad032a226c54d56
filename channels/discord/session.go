package discord

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
	"go.uber.org/zap"

	"nanobot/channels/httpclient"
)

// intents select the events: guilds with channels and threads, messages, and their content.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages |
	discordgo.IntentMessageContent

// maxResumes is how often a session is resumed without success before a new one is started.
const maxResumes = 3

// stableAfter is how long a connection must last to reset the retry delay.
const stableAfter = time.Minute

// event is one dispatch event of the gateway.
type event struct {
	name        string
	data        json.RawMessage
	interaction *receivedInteraction // of a command or a button
}

// session is a gateway session. It outlives connections: after a disconnect it is resumed, and the
// gateway sends the missed events. It is used from one goroutine.
type session struct {
	c      *Channel
	events chan<- event

	id, resumeURL   string // "": a new session is needed
	seq             atomic.Int64
	handshakeSent   bool                       // Identify or Resume was sent on the last connection
	failedResumes   int                        // consecutive failed resumes
	useDefaultURL   bool                       // resumeURL cannot be reached: try the gateway's default URL
	identifiedAt    time.Time                  // when the last session was started
	startAnswer     func(*receivedInteraction) // answers an interaction in the background
	lastInteraction *receivedInteraction
}

// run stays connected until ctx ends or Discord refuses the bot permanently.
func (s *session) run(ctx context.Context) error {
	network := s.c.newRetrier("no connection, will retry")
	var side sync.WaitGroup
	defer side.Wait()
	s.startAnswer = func(u *receivedInteraction) { side.Go(func() { s.c.answerInteraction(ctx, u) }) }
	for ctx.Err() == nil {
		began := time.Now()
		ready, err := s.connect(ctx)
		if ctx.Err() != nil {
			return nil // normal shutdown
		}
		if final := permanentError(err); final != nil {
			return final
		}
		if !ready && !errors.Is(err, errInvalidSession) { // handleInvalidSession has waited already
			s.recordFailure()
			httpclient.Sleep(ctx, network.Next(err))
			continue
		}
		s.c.log.Info("connection lost, reconnecting", zap.Duration("after", time.Since(began)), zap.Error(err))
		if time.Since(began) > stableAfter {
			network.Reset()
		}
		if time.Since(began) < time.Second {
			httpclient.Sleep(ctx, s.c.o.Timing.Pause/2)
		}
	}
	return nil
}

// recordFailure counts a connection without Ready. If the gateway was not even reached, the session
// is kept: the missed events arrive when it is resumed.
func (s *session) recordFailure() {
	if !s.handshakeSent {
		s.useDefaultURL = !s.useDefaultURL
		return
	}
	if s.failedResumes++; s.failedResumes >= maxResumes {
		s.reset()
	}
}

func (s *session) reset() {
	s.id, s.resumeURL, s.failedResumes = "", "", 0
	s.seq.Store(0)
}

// connect keeps one connection until it breaks, and reports whether the session became ready.
func (s *session) connect(ctx context.Context) (ready bool, err error) {
	s.handshakeSent = false
	address, err := s.gatewayURL(ctx)
	if err != nil {
		return false, err
	}
	ws, err := dial(ctx, address, s.c.o.Timing.Handshake)
	if err != nil {
		return false, err
	}
	k := &socket{ws: ws, seq: &s.seq}
	run := ctx
	ctx, end := context.WithCancelCause(ctx)
	var side sync.WaitGroup
	defer side.Wait()
	defer end(nil)
	side.Go(func() { // closing the connection makes read return
		<-ctx.Done()
		k.close(run.Err() != nil)
	})
	every, err := k.awaitHello(s.c.o.Timing.Handshake)
	if err != nil {
		return false, err
	}
	side.Go(func() {
		if err := k.sendHeartbeats(ctx, every); err != nil {
			end(err)
		}
	})
	timer := time.AfterFunc(s.c.o.Timing.Handshake, func() { end(errNotReady) })
	defer timer.Stop()
	if err := s.identifyOrResume(k); err != nil {
		return false, err
	}
	s.handshakeSent = true
	ready, err = s.readEvents(ctx, k, timer)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // instead of the read error that it caused
	}
	return ready, err
}

// gatewayURL returns the URL to connect to. For a new session it waits until Discord allows one.
func (s *session) gatewayURL(ctx context.Context) (string, error) {
	if s.id != "" && !s.useDefaultURL {
		return s.resumeURL, nil
	}
	if wait := time.Until(s.identifiedAt.Add(s.c.o.Timing.Identify)); s.id == "" && wait > 0 &&
		!httpclient.Sleep(ctx, wait) {
		return "", ctx.Err()
	}
	var gateway struct {
		URL   string `json:"url"`
		Limit struct {
			Remaining  int   `json:"remaining"`
			ResetAfter int64 `json:"reset_after"` // in milliseconds
		} `json:"session_start_limit"`
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := s.c.api.call(call, route{name: getGateway}, &gateway,
		func(l library) (any, error) { return l.GatewayBot(l.options...) })
	if err != nil {
		return "", err
	}
	if wait := durationOf(float64(gateway.Limit.ResetAfter) / 1000); s.id == "" && gateway.Limit.Remaining <= 0 &&
		wait > 0 {
		s.c.log.Warn("Discord allows no more sessions for now, will wait", zap.Duration("after", wait))
		if !httpclient.Sleep(ctx, wait) {
			return "", ctx.Err()
		}
	}
	return gateway.URL, nil
}

// identifyOrResume requests a new session, or resumes the old one.
func (s *session) identifyOrResume(k *socket) error {
	if s.id != "" {
		return k.send(opResume, map[string]any{"token": s.c.o.Token, "session_id": s.id, "seq": s.seq.Load()})
	}
	s.identifiedAt = time.Now()
	return k.send(opIdentify, map[string]any{
		"token": s.c.o.Token, "intents": intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "nanobot", "device": "nanobot"},
	})
}

// readEvents passes on events until the connection breaks.
func (s *session) readEvents(ctx context.Context, k *socket, timer *time.Timer) (ready bool, err error) {
	for {
		f, err := k.read()
		if errors.Is(err, errUndecodable) {
			s.c.log.Error("undecodable frame skipped") // a resume would repeat it
			continue
		}
		if err != nil {
			s.handleClose(err)
			return ready, err
		}
		switch f.Op {
		case opDispatch:
			timer.Stop() // the time to process an event does not count
			if f.Type == "READY" || f.Type == "RESUMED" {
				s.recordReady(f)
				ready = true
			}
			e := event{name: f.Type, data: f.Data}
			if f.Type == "INTERACTION_CREATE" {
				e.interaction = s.receiveInteraction(f.Data)
			}
			select {
			case s.events <- e:
			case <-ctx.Done():
				return ready, ctx.Err()
			}
			s.seq.Store(f.Seq) // only now: the next connection resumes after this event
			if !ready {        // a resumed session starts with the missed events
				timer.Reset(s.c.o.Timing.Handshake)
			}
		case opHeartbeat:
			err = k.sendHeartbeat()
		case opReconnect:
			err = errReconnect
		case opInvalidSession:
			err = s.handleInvalidSession(ctx, f)
		case opHeartbeatAck:
			k.acked.Store(true)
		}
		if err != nil {
			return ready, err
		}
	}
}

// recordReady stores the session ID and URL for a resume.
func (s *session) recordReady(f frame) {
	s.failedResumes, s.useDefaultURL = 0, false
	if f.Type == "RESUMED" {
		return
	}
	var ready struct {
		ID  string `json:"session_id"`
		URL string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(f.Data, &ready); err != nil || ready.URL == "" {
		return // the next connection starts a new session
	}
	s.id, s.resumeURL = ready.ID, ready.URL
}

// handleInvalidSession waits for a random time, as Discord demands, before the next connection.
func (s *session) handleInvalidSession(ctx context.Context, f frame) error {
	var resumable bool
	_ = json.Unmarshal(f.Data, &resumable) // undecodable means false
	if !resumable {
		s.reset()
	}
	httpclient.Sleep(ctx, time.Duration(rand.Float64()*float64(s.c.o.Timing.Identify)))
	return errInvalidSession
}

// handleClose forgets the session if the gateway's close code says that it cannot be resumed.
func (s *session) handleClose(err error) {
	var c *websocket.CloseError
	if !errors.As(err, &c) {
		return
	}
	switch c.Code {
	case 4003, 4007, 4009: // not authenticated, wrong sequence, session timed out
		s.reset()
	}
}
