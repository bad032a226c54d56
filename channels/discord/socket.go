package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"nanobot/channels/httpclient"
)

// The gateway's operations.
const (
	opDispatch  = 0
	opHeartbeat = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opAck       = 11
)

const (
	// writeTimeout is how long it may take to hand a frame to the network.
	writeTimeout = 10 * time.Second
	// maxFrame bounds a frame. A large server with all its channels is some megabytes.
	maxFrame = 64 << 20
	// closeResumable is a code with which a connection is closed that is to be resumed. 1000 and
	// 1001 would end the session.
	closeResumable = 4000
)

// frame is what goes over the gateway, in both directions.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// socket is one connection to the gateway.
type socket struct {
	ws    *websocket.Conn
	write sync.Mutex
	seq   *atomic.Int64 // the last event that was taken in
	acked atomic.Bool   // the last heartbeat was answered
}

var (
	errUndecodable = errors.New("undecodable frame")
	errReconnect   = errors.New("the gateway asks to reconnect")
	errInvalid     = errors.New("the gateway has forgotten the session")
	errZombie      = errors.New("the gateway does not answer heartbeats")
	errSilent      = errors.New("the gateway does not let us in in time")
)

// dial connects to the gateway.
func dial(ctx context.Context, address string, timeout time.Duration) (*websocket.Conn, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	u.RawQuery = "v=10&encoding=json"
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: timeout}
	ws, resp, err := dialer.DialContext(ctx, u.String(), http.Header{"User-Agent": {agent}})
	if resp != nil && err != nil {
		return nil, fmt.Errorf("connect to the gateway: %s", resp.Status)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	ws.SetReadLimit(maxFrame)
	return ws, nil
}

// read returns the next frame.
func (k *socket) read() (frame, error) {
	var f frame
	_, text, err := k.ws.ReadMessage()
	if err != nil {
		return f, err
	}
	if json.Unmarshal(text, &f) != nil {
		return f, errUndecodable
	}
	return f, nil
}

func (k *socket) send(op int, data any) error {
	k.write.Lock()
	defer k.write.Unlock()
	if err := k.ws.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return k.ws.WriteJSON(map[string]any{"op": op, "d": data})
}

// hello waits for the greeting and returns how often to send a heartbeat.
func (k *socket) hello(timeout time.Duration) (time.Duration, error) {
	if err := k.ws.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return 0, err
	}
	f, err := k.read()
	if err != nil {
		return 0, fmt.Errorf("wait for the gateway's greeting: %w", err)
	}
	var hello struct {
		Interval float64 `json:"heartbeat_interval"`
	}
	if f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Interval <= 0 {
		return 0, fmt.Errorf("the gateway greets with operation %d", f.Op)
	}
	return time.Duration(hello.Interval * float64(time.Millisecond)), k.ws.SetReadDeadline(time.Time{})
}

// beat sends heartbeats until ctx ends or one was not answered before the next is due. The first
// comes early, at a random time, so that not all bots beat at once after an outage.
func (k *socket) beat(ctx context.Context, every time.Duration) error {
	k.acked.Store(true)
	for wait := time.Duration(rand.Float64() * float64(every)); ; wait = every {
		if !httpclient.Sleep(ctx, wait) {
			return nil
		}
		if !k.acked.Swap(false) {
			return errZombie
		}
		if err := k.heartbeat(); err != nil {
			return fmt.Errorf("send a heartbeat: %w", err)
		}
	}
}

func (k *socket) heartbeat() error {
	if seq := k.seq.Load(); seq > 0 {
		return k.send(opHeartbeat, seq)
	}
	return k.send(opHeartbeat, nil)
}

// close ends the connection. An end for good also ends the session, so that the bot is not shown as
// present any more.
func (k *socket) close(forGood bool) {
	code := closeResumable
	if forGood {
		code = websocket.CloseNormalClosure
	}
	_ = k.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second)) // the other side may be gone
	_ = k.ws.Close()
}
