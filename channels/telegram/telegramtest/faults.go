package telegramtest

import (
	"strconv"
	"time"
)

// Fault is a failure of a call. The zero Fault lets the call succeed.
type Fault struct {
	HangUntil     <-chan struct{} // wait for this first
	Status        int             // respond with this error and do not carry out the call, unless CarryOut is set
	CarryOut      bool            // with Status: carry out the call first
	Description   string          // of the error
	RetryAfter    int             // seconds, with status 429
	MigrateTo     int64           // with status 400
	Body          string          // replaces the response; with Status 0 the call is carried out
	CutBefore     bool            // cut the connection, do not carry out the call
	CutAfter      bool            // carry out the call, then cut the connection; of a download, halfway
	ResponseDelay time.Duration   // delay between carrying out the call and the response
}

// RateLimited is a 429 with retry_after.
func RateLimited(seconds int) Fault {
	return Fault{Status: 429, RetryAfter: seconds, Description: "Too Many Requests: retry after " + strconv.Itoa(seconds)}
}

// BadGateway is a 502 with the page of a proxy.
func BadGateway() Fault {
	return Fault{Status: 502, Body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n" +
		"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"}
}

// ErrorAfterEffect carries out the call and then responds with an error, like a Bot API server that
// fails after it has sent a message.
func ErrorAfterEffect(status int) Fault { return Fault{Status: status, CarryOut: true} }

// ErrorResponse is an error of the Bot API, such as 400 with "Bad Request: can't parse entities".
func ErrorResponse(status int, description string) Fault {
	return Fault{Status: status, Description: description}
}

// TruncatedJSON carries out the call and responds with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"ok":true,"result":{"message_id":`} }

// FailNext queues faults for the next calls of a method, or of any method for "". A zero Fault lets
// a call succeed.
func (s *Server) FailNext(method string, faults ...Fault) {
	s.update(func() { s.queuedFaults[method] = append(s.queuedFaults[method], faults...) })
}

// SetFault sets a function that returns the fault of each call; nil means no faults. Faults queued
// by FailNext come first. The function may block.
func (s *Server) SetFault(f func(Call) Fault) { s.update(func() { s.faultFunc = f }) }
