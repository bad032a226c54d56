package prepared

import (
	"nanobot/channels"
	"nanobot/gateway/store"
)

// Found completes a message that was found: in is the person's, nil: it is the agent's.
func Found(f store.Found, in *channels.Incoming) store.Found {
	f.Role = "agent"
	if in != nil {
		f.Role, f.Text, f.Media, f.User, f.Message = "user", in.Text, in.Media, in.User, in.ID
	}
	return f
}
