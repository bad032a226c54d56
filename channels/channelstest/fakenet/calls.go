package fakenet

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"time"
)

// Call has the fields that the calls of every network have. The type of a network's calls embeds
// it.
type Call struct {
	ID     int // in the order of arrival, from 1
	At     time.Time
	From   string // the address of the caller, without its port
	Host   string // the address that it has called
	Done   bool   // the response was sent
	Status int    // of the response; 0 if the connection was cut
	Ended  int    // in the order in which calls ended, from 1; 0 until then
}

// Header returns the call itself.
func (c *Call) Header() *Call { return c }

// pointer is a pointer to a network's call. The name of a call is its method or route.
type pointer[C any] interface {
	*C
	Header() *Call
	CallName() string
}

// Network is a State that records calls and lets them fail. C is the type of the network's calls,
// and P is *C.
type Network[C any, P pointer[C]] struct {
	State
	calls        []P
	ended        int
	faultFunc    func(C) Fault
	queuedFaults map[string][]Fault
}

// CallerAddress returns the address of a request's caller, without its port.
func CallerAddress(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return host
}

// Response is how a network carries out a call and responds to it.
type Response struct {
	CarryOut func() (result any, err error)
	// Begin is called with the result, or with the fault's error, and returns the status. A
	// download writes the first half of the file, so that a fault can cut the connection halfway.
	Begin func(result any, err error) (status int)
	// Write writes the response, unless a fault replaces it.
	Write func(status int, result any, err error)
}

// ServeCall records a call and responds to it, with the fault that is planned for it.
func (n *Network[C, P]) ServeCall(w http.ResponseWriter, r *http.Request, c P, response Response) {
	h := c.Header()
	var planned func() Fault
	n.Update(func() {
		// Whoever sees the call may make another one, which must not take this one's fault.
		planned = n.planFault(c)
		n.calls = append(n.calls, c)
		h.ID, h.At = len(n.calls), time.Now()
		h.From, h.Host = CallerAddress(r), r.Host
		w.Header().Set("Date", n.Now().UTC().Format(http.TimeFormat))
	})
	f := planned()
	n.beforeEffect(r.Context(), f, c)
	if f.Status != 0 {
		n.end(h, f.Status)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		_, _ = w.Write([]byte(f.Body))
		return
	}
	var result any
	err := f.Err
	if f.Err == nil || f.CarryOut {
		if result, err = response.CarryOut(); err == nil {
			err = f.Err
		}
	}
	if r.Context().Err() != nil {
		n.abortConnection(c)
	}
	status := response.Begin(result, err)
	n.afterEffect(r.Context(), f, c)
	n.end(h, status)
	if f.Body != "" {
		_, _ = w.Write([]byte(f.Body))
		return
	}
	response.Write(status, result, err)
}

// end marks a call as done.
func (n *Network[C, P]) end(h *Call, status int) {
	n.Update(func() {
		n.ended++
		h.Done, h.Status, h.Ended = true, status, n.ended
	})
}

// Ended returns the number of calls that have ended.
func (n *Network[C, P]) Ended() int {
	n.Lock()
	defer n.Unlock()
	return n.ended
}

// Calls returns the calls with a name so far, in order. "" means all names.
func (n *Network[C, P]) Calls(name string) []C {
	n.Lock()
	defer n.Unlock()
	return n.callsOf(name)
}

func (n *Network[C, P]) callsOf(name string) (out []C) {
	for _, c := range n.calls {
		if name == "" || c.CallName() == name {
			out = append(out, *c)
		}
	}
	return out
}

// AwaitCalls waits until enough reports true for the calls with a name, and returns the calls. It
// reports false after the timeout.
func (n *Network[C, P]) AwaitCalls(name string, timeout time.Duration, enough func([]C) bool) (calls []C, ok bool) {
	ok = n.AwaitFor(timeout, func() bool { calls = n.callsOf(name); return enough(calls) })
	return calls, ok
}

// AwaitEnded waits until a call with a name that list accepts has ended after the call with the
// number Ended, and returns such calls in the order in which they ended. There are none after the
// timeout.
func (n *Network[C, P]) AwaitEnded(ended int, timeout time.Duration, list func(name string) bool) (calls []C) {
	n.AwaitFor(timeout, func() bool {
		calls = slices.DeleteFunc(n.callsOf(""), func(c C) bool {
			return P(&c).Header().Ended <= ended || !list(P(&c).CallName())
		})
		return len(calls) > 0
	})
	slices.SortFunc(calls, func(a, b C) int { return cmp.Compare(P(&a).Header().Ended, P(&b).Header().Ended) })
	return calls
}

// WaitForCalls is AwaitCalls that fails the test after WaitLimit.
func (n *Network[C, P]) WaitForCalls(t TB, name string, enough func([]C) bool) []C {
	t.Helper()
	calls, ok := n.AwaitCalls(name, WaitLimit, enough)
	if !ok {
		t.Fatalf("the calls of %s are %+v", name, calls)
	}
	return calls
}
