// Package role decides what a person may do. It knows neither chats nor who has which role.
package role

import "slices"

// Role is what a person is for the bot.
type Role string

// The roles of people, lowest first. Each includes those before it. None stands for all people
// where no roles are configured, and Operator for a person who is signed in to the console, which
// is a right apart.
const (
	None     Role = ""
	Guest    Role = "guest"
	User     Role = "user"
	Approver Role = "approver"
	Owner    Role = "owner"
	Operator Role = "operator"
)

// Names returns the roles that a person can be given, lowest first.
func Names() []string {
	return []string{string(Guest), string(User), string(Approver), string(Owner)}
}

// Valid reports whether a person can be given a role of this name.
func Valid(name string) bool { return slices.Contains(Names(), name) }

// Of returns the role that has a person (channel:userid) in its list; None: no list has.
func Of(people map[Role][]string, person string) Role {
	for r, list := range people {
		if slices.Contains(list, person) {
			return r
		}
	}
	return None
}

// AtMost returns the lower one of two roles.
func (r Role) AtMost(limit Role) Role {
	if slices.Index(Names(), string(r)) > slices.Index(Names(), string(limit)) {
		return limit
	}
	return r
}

// Listing says whether a list of approvers contains a person. The zero value is an empty list.
type Listing int

// The values of Listing.
const (
	NoList Listing = iota
	Listed
	Unlisted
)

// ListingOf looks a person (channel:userid) up in a list of approvers.
func ListingOf(list []string, person string) Listing {
	switch {
	case len(list) == 0:
		return NoList
	case slices.Contains(list, person):
		return Listed
	}
	return Unlisted
}

// Action is something that a person can do. That of a command is its word, such as /stop.
type Action string

// The actions that are no commands.
const (
	Talk           Action = "talk to an agent" // also by files, edits, buttons of the agent and answers to its questions
	SwitchAgent    Action = "/agent"           // also by an earlier choice of the chat
	TypeInTerminal Action = "/type"            // also by text while a terminal reads it
	Approve        Action = "permit what an agent asks for"
	DecideRun      Action = "decide in a run of a runbook"
	CommentRun     Action = "comment on a run of a runbook"
	Schedule       Action = "/remind" // also by the agent that works for the person
	// RemoveSchedule is about a schedule of somebody else.
	RemoveSchedule Action = "remove another person's schedule"
	// SessionsElsewhere is about sessions that were begun outside the chats.
	SessionsElsewhere Action = "choose from the agent's sessions that were begun outside the chats"
	UseConsole        Action = "see and use the console"
)

// least has the lowest role that each action needs. A new action needs a row.
var least = map[Action]Role{
	Talk: Guest, "/start": Guest, "/help": Guest, "/whoami": Guest,

	"/stop": User, "/status": User, "/new": User, "/retry": User, "/verbose": User, "/usage": User, "/search": User,
	Schedule: User, "/schedules": User, "/unschedule": User, SwitchAgent: User,
	"/details": User, "/cancel": User, "/again": User, "/rerun": User, "/resend": User,
	"/runbooks": User, "/run": User, CommentRun: User,
	"/config": User, "/mode": User, "/model": User, "/sessions": User,
	"/screen": User, "/key": User, TypeInTerminal: User, "/take": User, "/give": User, "/log": User, "/size": User,
	"/resume": User, "/diff": User, "/undo": User,

	Approve: Approver, DecideRun: Approver, RemoveSchedule: Approver,
	SessionsElsewhere: Owner,
	UseConsole:        Operator,
}

// OfCommand returns the action of a command in a menu. One that only the agent knows is Talk.
func OfCommand(name string) Action {
	if a := Action("/" + name); least[a] != "" {
		return a
	}
	return Talk
}

// May reports whether a person may do something. in is the person's place in the list of approvers
// that applies to the action: people on a list may approve, and without one everybody may who is an
// approver or where there are no roles. An action without a row is for owners.
func May(r Role, a Action, in Listing) bool {
	needed, known := least[a]
	if !known {
		needed = Owner
	}
	switch {
	case needed == Operator || r == Operator:
		return r == needed
	case in != NoList && r != Guest && (needed == Approver || needed == Owner && in == Listed):
		return in == Listed
	case r == None:
		return a != SessionsElsewhere
	}
	return slices.Index(Names(), string(r)) >= slices.Index(Names(), string(needed))
}
