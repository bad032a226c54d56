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

// Opcodes of the gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

const (
	// writeTimeout bounds the writing of a frame.
	writeTimeout = 10 * time.Second
	// maxFrame bounds a frame. A large guild with all its channels has some megabytes.
	maxFrame = 64 << 20
	// closeResumable is a close code after which the session can be resumed. 1000 and 1001 would
	// end it.
	closeResumable = 4000
)

// frame is a gateway payload.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  int64           `json:"s"`
	Type string          `json:"t"`
}

// socket is one connection to the gateway.
type socket struct {
	ws      *websocket.Conn
	writeMu sync.Mutex
	seq     *atomic.Int64 // sequence number of the last processed event
	acked   atomic.Bool   // the last heartbeat was acknowledged
}

var (
	errUndecodable    = errors.New("undecodable frame")
	errReconnect      = errors.New("the gateway asks to reconnect")
	errInvalidSession = errors.New("the gateway has forgotten the session")
	errNoHeartbeatAck = errors.New("the gateway does not answer heartbeats")
	errNotReady       = errors.New("the gateway did not start the session in time")
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
	ws, resp, err := dialer.DialContext(ctx, u.String(), http.Header{"User-Agent": {userAgent}})
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
	k.writeMu.Lock()
	defer k.writeMu.Unlock()
	if err := k.ws.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return k.ws.WriteJSON(map[string]any{"op": op, "d": data})
}

// awaitHello waits for the Hello payload and returns the heartbeat interval.
func (k *socket) awaitHello(timeout time.Duration) (time.Duration, error) {
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

// sendHeartbeats sends heartbeats until ctx ends or one is not acknowledged before the next is due.
// The first is sent after a random part of the interval, so that not all bots send at once after an
// outage.
func (k *socket) sendHeartbeats(ctx context.Context, every time.Duration) error {
	k.acked.Store(true)
	for wait := time.Duration(rand.Float64() * float64(every)); ; wait = every {
		if !httpclient.Sleep(ctx, wait) {
			return nil
		}
		if !k.acked.Swap(false) {
			return errNoHeartbeatAck
		}
		if err := k.sendHeartbeat(); err != nil {
			return fmt.Errorf("send a heartbeat: %w", err)
		}
	}
}

func (k *socket) sendHeartbeat() error {
	if seq := k.seq.Load(); seq > 0 {
		return k.send(opHeartbeat, seq)
	}
	return k.send(opHeartbeat, nil)
}

// close closes the connection. With forGood it also ends the session, so that the bot is shown as
// offline.
func (k *socket) close(forGood bool) {
	code := closeResumable
	if forGood {
		code = websocket.CloseNormalClosure
	}
	// the peer may be gone
	_ = k.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, ""), time.Now().Add(time.Second))
	_ = k.ws.Close()
}
