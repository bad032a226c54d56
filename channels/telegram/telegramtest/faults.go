package telegramtest

import (
	"net/http"
	"strconv"

	"nanobot/channels/channelstest/fakenet"
)

// Fault is a failure of a call. The zero Fault lets the call succeed.
type Fault = fakenet.Fault

// RateLimited is a 429 with retry_after.
func RateLimited(seconds int) Fault {
	return Fault{Err: &apiError{
		status: http.StatusTooManyRequests, retryAfter: seconds, text: "Too Many Requests: retry after " + strconv.Itoa(seconds),
	}}
}

// BadGateway is a 502 with the page of a proxy.
func BadGateway() Fault { return fakenet.BadGateway() }

// ErrorAfterEffect carries out the call and then responds with an error, like a Bot API server that
// fails after it has sent a message.
func ErrorAfterEffect(status int) Fault {
	f := ErrorResponse(status, http.StatusText(status))
	f.CarryOut = true
	return f
}

// ErrorResponse is an error of the Bot API, such as 400 with "Bad Request: can't parse entities".
func ErrorResponse(status int, description string) Fault {
	return Fault{Err: &apiError{status: status, text: description}}
}

// TruncatedJSON carries out the call and responds with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"ok":true,"result":{"message_id":`} }
