package discordtest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// gateway is the state of the websocket side.
type gateway struct {
	conns    map[*conn]bool
	sessions map[string]*session
	next     []Handshake
	beat     time.Duration // the heartbeat interval
	mute     bool          // nothing is sent
	noACK    bool
	start    StartLimit
	starts   []time.Time // of the latest IDENTIFYs
	deliver  func(event string, data json.RawMessage) int
	stats    Stats
}

func newGateway() gateway {
	return gateway{
		conns: map[*conn]bool{}, sessions: map[string]*session{}, beat: 41250 * time.Millisecond,
		start: StartLimit{Total: 1000, Remaining: 1000, MaxConcurrency: 1000, Window: 5 * time.Second},
	}
}

// session is what a bot is told, and how far. It outlives its connection.
type session struct {
	id      string
	intents int
	log     []frame // all dispatches; the n-th has the sequence number n
	conn    *conn   // nil while nobody listens
	left    time.Time
}

// conn is one connection. All but ws is guarded by the server's lock.
type conn struct {
	ws      *websocket.Conn
	plan    Handshake
	out     [][]byte
	session *session
	mute    bool // it sends no more
	closing int  // the code to close with once out is sent
	gone    bool
	beat    time.Duration
	packets []time.Time // what the client has sent lately
}

// frame is one packet of the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int             `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// The opcodes.
const (
	opDispatch = iota
	opHeartbeat
	opIdentify
	opPresence
	opVoice
	_
	opResume
	opReconnect
	opMembers
	opInvalid
	opHello
	opACK
)

// accept serves one connection to the gateway from its beginning to its end.
func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.isClosed() {
		s.mu.Unlock()
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.work.Add(1) // under the lock, so that Close either waits for it or was first
	s.gateway.stats.Connects++
	plan := s.gateway.plan(false)
	s.mu.Unlock()
	defer s.work.Done()
	if plan.RefuseStatus != 0 {
		http.Error(w, http.StatusText(plan.RefuseStatus), plan.RefuseStatus)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, plan: plan}
	s.update(func() {
		s.gateway.conns[c] = true
		c.beat = s.gateway.beat
		c.mute = plan.NoHello
		s.send(c, frame{Op: opHello, Data: encode(map[string]int64{"heartbeat_interval": c.beat.Milliseconds()})})
		if v := r.URL.Query().Get("v"); v != "9" && v != "10" || r.URL.Query().Get("encoding") != "json" {
			s.hangUp(c, 4012)
		}
		if s.isClosed() {
			s.cut(c)
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.writeAll(c)
	}()
	s.readAll(c)
	<-done
}

// plan takes how the next connection goes, or the next RESUME if that is what is planned.
func (g *gateway) plan(resume bool) Handshake {
	if len(g.next) == 0 || g.next[0].OnlyResume != resume {
		return Handshake{}
	}
	h := g.next[0]
	g.next = g.next[1:]
	return h
}
