package telegramtest

import (
	"strconv"
	"time"
)

// Fault is a way in which the server treats a call. Its zero value is none.
type Fault struct {
	HangUntil     <-chan struct{} // wait for this before anything else
	Status        int             // answer with this error and do nothing, unless Effect is set
	CarryOut      bool            // with Status: carry the call out first
	Description   string          // of the error
	RetryAfter    int             // seconds, with status 429
	MigrateTo     int64           // with status 400
	Body          string          // answer with this as it stands; with Status 0 after doing it
	CutBefore     bool            // cut the connection and do nothing
	CutAfter      bool            // do it, and cut the connection instead of answering; of a download, halfway
	ResponseDelay time.Duration   // do it, and take this long to answer
}

// RateLimited is 429 with retry_after.
func RateLimited(seconds int) Fault {
	return Fault{Status: 429, RetryAfter: seconds, Description: "Too Many Requests: retry after " + strconv.Itoa(seconds)}
}

// BadGateway is 502 with the page a proxy answers with.
func BadGateway() Fault {
	return Fault{Status: 502, Body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n" +
		"<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n"}
}

// ErrorAfterEffect carries the call out and then answers with an error, as a Bot API server does that fails
// after it has sent a message.
func ErrorAfterEffect(status int) Fault { return Fault{Status: status, CarryOut: true} }

// ErrorResponse is an error of the Bot API, such as 400 with "Bad Request: can't parse entities".
func ErrorResponse(status int, description string) Fault {
	return Fault{Status: status, Description: description}
}

// TruncatedJSON does what was asked and answers with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"ok":true,"result":{"message_id":`} }

// FailNext queues faults for the next calls of a method, or of any method for "". A zero Fault lets
// a call pass.
func (s *Server) FailNext(method string, faults ...Fault) {
	s.update(func() { s.queued[method] = append(s.queued[method], faults...) })
}

// SetFault has every call asked about; nil asks about none. The queue of FailNext goes first. The
// function may block.
func (s *Server) SetFault(f func(Call) Fault) { s.update(func() { s.fault = f }) }
