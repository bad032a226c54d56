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

// intents are what we want to hear of: servers with their channels and threads, messages, and what
// is in them.
const intents = discordgo.IntentGuilds | discordgo.IntentGuildMessages | discordgo.IntentDirectMessages | discordgo.IntentMessageContent

// resumeTries is how often a session is tried to be resumed before it is given up.
const resumeTries = 3

// steady is how long a connection lasts before trouble counts as over.
const steady = time.Minute

// event is something that happened, in the order in which the gateway told.
type event struct {
	name string
	data json.RawMessage
	use  *use // of a command or a button
}

// session is our standing with the gateway. It outlives connections: one that broke off is resumed,
// and the gateway tells what happened meanwhile. It is used from one goroutine.
type session struct {
	c      *Channel
	events chan<- event

	id, url    string // "": there is none, and a new one must be begun
	seq        atomic.Int64
	asked      bool       // the gateway was reached, and asked for a session
	failed     int        // how often it could not be resumed in a row
	astray     bool       // where to resume nobody was reached: try where new sessions begin
	identified time.Time  // when the last one was begun
	answer     func(*use) // tells Discord at the side that an interaction was heard
	last       *use
}

// run keeps a connection until ctx ends or Discord refuses us for good.
func (s *session) run(ctx context.Context) error {
	network := s.c.newRetrier("no connection, will retry")
	var side sync.WaitGroup
	defer side.Wait()
	s.answer = func(u *use) { side.Go(func() { s.c.answer(ctx, u) }) }
	for ctx.Err() == nil {
		began := time.Now()
		ready, err := s.connect(ctx)
		if ctx.Err() != nil {
			return nil // it ended because it was told to
		}
		if final := refusedForGood(err); final != nil {
			return final
		}
		if !ready && !errors.Is(err, errInvalid) { // which has been waited for already
			s.fail()
			httpclient.Sleep(ctx, network.Next(err))
			continue
		}
		s.c.log.Info("connection lost, connecting anew", zap.Duration("after", time.Since(began)), zap.Error(err))
		if time.Since(began) > steady {
			network.Reset()
		}
		if time.Since(began) < time.Second {
			httpclient.Sleep(ctx, s.c.o.Timing.Pause/2)
		}
	}
	return nil
}

// fail takes note that the gateway did not let us in. A session that was not asked for, because the
// network was gone, is kept: what happens meanwhile is told when it is resumed.
func (s *session) fail() {
	if !s.asked {
		s.astray = !s.astray
		return
	}
	if s.failed++; s.failed >= resumeTries {
		s.forget()
	}
}

func (s *session) forget() {
	s.id, s.url, s.failed = "", "", 0
	s.seq.Store(0)
}

// connect keeps one connection until it breaks, and reports whether the gateway has let us in.
func (s *session) connect(ctx context.Context) (ready bool, err error) {
	s.asked = false
	address, err := s.address(ctx)
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
	side.Go(func() { // which makes read return
		<-ctx.Done()
		k.close(run.Err() != nil)
	})
	every, err := k.hello(s.c.o.Timing.Handshake)
	if err != nil {
		return false, err
	}
	side.Go(func() {
		if err := k.beat(ctx, every); err != nil {
			end(err)
		}
	})
	patience := time.AfterFunc(s.c.o.Timing.Handshake, func() { end(errSilent) })
	defer patience.Stop()
	if err := s.introduce(k); err != nil {
		return false, err
	}
	s.asked = true
	ready, err = s.listen(ctx, k, patience)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // and not that the connection was closed because of it
	}
	return ready, err
}

// address is where to connect to. For a new session its turn is waited for.
func (s *session) address(ctx context.Context) (string, error) {
	if s.id != "" && !s.astray {
		return s.url, nil
	}
	if wait := time.Until(s.identified.Add(s.c.o.Timing.Identify)); s.id == "" && wait > 0 && !httpclient.Sleep(ctx, wait) {
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
	err := s.c.api.call(call, route{name: getGateway}, &gateway, func(l library) (any, error) { return l.GatewayBot(l.options...) })
	if err != nil {
		return "", err
	}
	if wait := seconds(float64(gateway.Limit.ResetAfter) / 1000); s.id == "" && gateway.Limit.Remaining <= 0 && wait > 0 {
		s.c.log.Warn("Discord allows no more sessions for now, will wait", zap.Duration("after", wait))
		if !httpclient.Sleep(ctx, wait) {
			return "", ctx.Err()
		}
	}
	return gateway.URL, nil
}

// introduce asks for a new session, or for the old one.
func (s *session) introduce(k *socket) error {
	if s.id != "" {
		return k.send(opResume, map[string]any{"token": s.c.o.Token, "session_id": s.id, "seq": s.seq.Load()})
	}
	s.identified = time.Now()
	return k.send(opIdentify, map[string]any{
		"token": s.c.o.Token, "intents": intents,
		"properties": map[string]string{"os": runtime.GOOS, "browser": "nanobot", "device": "nanobot"},
	})
}

// listen passes on events until the connection breaks.
func (s *session) listen(ctx context.Context, k *socket, patience *time.Timer) (ready bool, err error) {
	for {
		f, err := k.read()
		if errors.Is(err, errUndecodable) {
			s.c.log.Error("undecodable frame skipped") // to ask for it again would bring it again
			continue
		}
		if err != nil {
			s.closed(err)
			return ready, err
		}
		switch f.Op {
		case opDispatch:
			patience.Stop() // how long it takes us to take something in is not the gateway's fault
			if f.Type == "READY" || f.Type == "RESUMED" {
				s.admitted(f)
				ready = true
			}
			e := event{name: f.Type, data: f.Data}
			if f.Type == "INTERACTION_CREATE" {
				e.use = s.heard(f.Data)
			}
			select {
			case s.events <- e:
			case <-ctx.Done():
				return ready, ctx.Err()
			}
			s.seq.Store(f.Seq) // not before: when this connection breaks, the next one goes on here
			if !ready {        // a session that is resumed begins with all that was missed
				patience.Reset(s.c.o.Timing.Handshake)
			}
		case opHeartbeat:
			err = k.heartbeat()
		case opReconnect:
			err = errReconnect
		case opInvalid:
			err = s.invalid(ctx, f)
		case opAck:
			k.acked.Store(true)
		}
		if err != nil {
			return ready, err
		}
	}
}

// admitted notes what is needed to resume.
func (s *session) admitted(f frame) {
	s.failed, s.astray = 0, false
	if f.Type == "RESUMED" {
		return
	}
	var ready struct {
		ID  string `json:"session_id"`
		URL string `json:"resume_gateway_url"`
	}
	if err := json.Unmarshal(f.Data, &ready); err != nil || ready.URL == "" {
		return // the next connection begins a new one
	}
	s.id, s.url = ready.ID, ready.URL
}

// invalid waits as long as Discord wants us to before we try again, some time that differs from bot
// to bot.
func (s *session) invalid(ctx context.Context, f frame) error {
	var resumable bool
	_ = json.Unmarshal(f.Data, &resumable) // what cannot be read means no
	if !resumable {
		s.forget()
	}
	httpclient.Sleep(ctx, time.Duration(rand.Float64()*float64(s.c.o.Timing.Identify)))
	return errInvalid
}

// closed looks at the code with which the gateway has closed the connection.
func (s *session) closed(err error) {
	var c *websocket.CloseError
	if !errors.As(err, &c) {
		return
	}
	switch c.Code {
	case 4003, 4007, 4009: // not authenticated, wrong sequence, session timed out
		s.forget()
	}
}
