package intake

import "slices"

// approves reports whether a person may decide where a list of approvers (channel:userid) holds.
// With an empty list everybody may who may talk to the bot.
func approves(list []string, channel, user string) bool {
	return len(list) == 0 || slices.Contains(list, channel+":"+user)
}
