package discordtest

import (
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// Fault is a failure of a call. The zero Fault lets the call succeed.
type Fault = fakenet.Fault

// RateLimited is a 429 for the call's bucket.
func RateLimited(after time.Duration) Fault { return RateLimitedBy("user", after) }

// GloballyRateLimited is a 429 for the whole bot.
func GloballyRateLimited(after time.Duration) Fault { return RateLimitedBy("global", after) }

// RateLimitedBy is a 429 with this scope: user, global or shared.
func RateLimitedBy(scope string, after time.Duration) Fault {
	return Fault{Err: rateLimitError(after, scope)}
}

// BadGateway is a 502 with the page of a proxy.
func BadGateway() Fault { return fakenet.BadGateway() }

// ErrorResponse is an error of Discord, such as 403 with code 50013, Missing Permissions.
func ErrorResponse(status, code int, message string) Fault {
	return Fault{Err: expectedError(status, code, message)}
}

// TruncatedJSON carries out the call and responds with half a JSON object.
func TruncatedJSON() Fault { return Fault{Body: `{"id":"12`} }
