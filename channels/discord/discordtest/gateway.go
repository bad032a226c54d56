package discordtest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/channelstest/fakenet"
)

// gateway is the state of the websocket gateway.
type gateway struct {
	conns             map[*conn]bool
	sessions          map[string]*session
	handshakeFaults   []HandshakeFault
	heartbeatInterval time.Duration
	readTimeout       time.Duration // 0: twice the interval
	muted             bool          // nothing is sent
	noACK             bool
	startLimit        StartLimit
	identifyTimes     []time.Time // of the latest IDENTIFYs
	eventCopies       func(event string, data json.RawMessage) int
	stats             Stats
}

func newGateway() gateway {
	return gateway{
		conns: map[*conn]bool{}, sessions: map[string]*session{}, heartbeatInterval: 41250 * time.Millisecond,
		startLimit: StartLimit{Total: 1000, Remaining: 1000, MaxConcurrency: 1000, Window: 5 * time.Second},
	}
}

// session is the session of a bot with its events. It outlives its connections.
type session struct {
	id             string
	intents        int
	events         []packet // all dispatched events; the n-th has the sequence number n
	conn           *conn    // nil while disconnected
	disconnectedAt time.Time
}

// conn is one connection. Everything except ws is protected by the server's lock.
type conn struct {
	ws                *websocket.Conn
	host, from        string // the address that was called, and the caller's
	handshakeFault    HandshakeFault
	outgoing          [][]byte
	session           *session
	muted             bool // nothing more is sent
	closing           int  // the code to close with after outgoing is sent
	closed            bool
	heartbeatInterval time.Duration
	packetTimes       []time.Time // of the client's recent packets
}

// packet is one packet of the gateway.
type packet struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int             `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// The opcodes of the gateway.
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

// serveGateway serves one connection until it ends.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	if s.IsClosed() {
		s.Unlock()
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	s.connections.Add(1) // with the lock held, so that Close either waits for it or comes first
	s.gateway.stats.Connects++
	plan := s.gateway.nextHandshakeFault(false)
	s.Unlock()
	defer s.connections.Done()
	if plan.RefuseStatus != 0 {
		http.Error(w, http.StatusText(plan.RefuseStatus), plan.RefuseStatus)
		return
	}
	ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, host: r.Host, from: fakenet.CallerAddress(r), handshakeFault: plan}
	s.Update(func() {
		s.gateway.conns[c] = true
		c.heartbeatInterval = s.gateway.heartbeatInterval
		c.muted = plan.NoHello
		s.queuePacket(c, packet{Op: opHello, Data: encode(map[string]int64{"heartbeat_interval": c.heartbeatInterval.Milliseconds()})})
		if v := r.URL.Query().Get("v"); v != "9" && v != "10" || r.URL.Query().Get("encoding") != "json" {
			s.closeConnection(c, 4012)
		}
		if s.IsClosed() {
			s.cutConnection(c)
		}
		s.extendReadDeadline(c)
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.writePackets(c)
	}()
	s.readPackets(c)
	<-done
}

// nextHandshakeFault removes and returns the fault that is planned for the next connection, or for
// the next RESUME.
func (g *gateway) nextHandshakeFault(resume bool) HandshakeFault {
	if len(g.handshakeFaults) == 0 || g.handshakeFaults[0].OnlyResume != resume {
		return HandshakeFault{}
	}
	h := g.handshakeFaults[0]
	g.handshakeFaults = g.handshakeFaults[1:]
	return h
}
