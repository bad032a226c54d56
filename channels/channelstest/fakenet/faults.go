package fakenet

import (
	"context"
	"net/http"
	"time"
)

// Fault is a failure of a call. The zero Fault lets the call succeed.
type Fault struct {
	HangUntil     <-chan struct{} // wait for this first
	CutBefore     bool            // cut the connection, do not carry out the call
	Err           error           // respond with this error; the call is not carried out, unless CarryOut is set
	CarryOut      bool            // with Err: carry out the call first
	Status        int             // respond with this status and Body, which are a proxy's, and do not carry out the call
	Body          string          // replaces the response; with Status 0 the call is carried out
	CutAfter      bool            // carry out the call, then cut the connection; of a download, halfway
	ResponseDelay time.Duration   // delay between carrying out the call and the response
}

// BadGateway is a 502 with the page of a proxy.
func BadGateway() Fault {
	return Fault{Status: http.StatusBadGateway, Body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n" +
		"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"}
}

// FailNext queues faults for the next calls with a name, or with any name for "". A zero Fault lets
// a call succeed.
func (n *Network[C, P]) FailNext(name string, faults ...Fault) {
	n.Update(func() {
		if n.queuedFaults == nil {
			n.queuedFaults = map[string][]Fault{}
		}
		n.queuedFaults[name] = append(n.queuedFaults[name], faults...)
	})
}

// SetFault sets a function that returns the fault of each call; nil means no faults. Faults queued
// by FailNext come first. The function may block.
func (n *Network[C, P]) SetFault(f func(C) Fault) { n.Update(func() { n.faultFunc = f }) }

// SetFaultByName is SetFault for a function that needs only the name of a call.
func (n *Network[C, P]) SetFaultByName(f func(name string) Fault) {
	n.SetFault(func(c C) Fault { return f(P(&c).CallName()) })
}

// planFault returns the function that returns the fault of a call: the next one queued for the
// call's name, else the next one queued for any name, else the result of the test's function. It is
// called with the lock held, and the function without it.
func (n *Network[C, P]) planFault(c P) func() Fault {
	for _, name := range []string{c.CallName(), ""} {
		if q := n.queuedFaults[name]; len(q) > 0 {
			n.queuedFaults[name] = q[1:]
			return func() Fault { return q[0] }
		}
	}
	ask := n.faultFunc
	if ask == nil {
		return func() Fault { return Fault{} }
	}
	return func() Fault {
		n.Lock()
		copied := *c
		n.Unlock()
		return ask(copied)
	}
}

// beforeEffect applies the part of a fault that comes before the call is carried out.
func (n *Network[C, P]) beforeEffect(ctx context.Context, f Fault, c P) {
	if f.HangUntil != nil {
		select {
		case <-f.HangUntil:
		case <-ctx.Done():
			n.abortConnection(c)
		case <-n.closed:
			n.abortConnection(c)
		}
	}
	if f.CutBefore {
		n.abortConnection(c)
	}
}

// afterEffect applies the part of a fault that comes between carrying out the call and the
// response.
func (n *Network[C, P]) afterEffect(ctx context.Context, f Fault, c P) {
	if f.ResponseDelay > 0 {
		select {
		case <-time.After(f.ResponseDelay):
		case <-ctx.Done():
		case <-n.closed:
		}
	}
	if f.CutAfter {
		n.abortConnection(c)
	}
}

// abortConnection cuts the connection.
func (n *Network[C, P]) abortConnection(c P) {
	n.end(c.Header(), 0)
	panic(http.ErrAbortHandler)
}
