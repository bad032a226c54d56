package words

// Texts of the pages for signing in, and of refusals that a person may see.
const (
	SignInOpen        Key = "signInOpen"
	SignInLinkFor     Key = "signInLinkFor"
	SignInOther       Key = "signInOther"
	SignInSwitch      Key = "signInSwitch"
	SignInStay        Key = "signInStay"
	SignInFailed      Key = "signInFailed"
	SignInLinkSpent   Key = "signInLinkSpent"
	SignInNewLink     Key = "signInNewLink"
	SignInNeedsLink   Key = "signInNeedsLink"
	SignInAskForLink  Key = "signInAskForLink"
	SignInDemoLink    Key = "signInDemoLink"
	SignInUnchecked   Key = "signInUnchecked"
	SignInTooMany     Key = "signInTooMany"
	SignOutNotStored  Key = "signOutNotStored"
	RoleChat          Key = "roleChat"
	RoleOperator      Key = "roleOperator"
	RefusedOperators  Key = "refusedOperators"
	RefusedOtherSite  Key = "refusedOtherSite"
	RefusedHost       Key = "refusedHost"
	TitleBadLink      Key = "titleBadLink"
	TitlePleaseWait   Key = "titlePleaseWait"
	TitleDidNotWork   Key = "titleDidNotWork"
	TitleCannotDoThis Key = "titleCannotDoThis"
)

var signInTexts = map[Key]translations{
	SignInOpen:    {"Open the chat", "Chat öffnen"},
	SignInLinkFor: {"This link is for {user}.", "Dieser Link ist für {user}."},
	SignInOther: {
		"You are signed in as {user} ({role}). This link is for {other} ({otherRole}).",
		"Du bist als {user} ({role}) angemeldet. Dieser Link ist für {other} ({otherRole}).",
	},
	SignInSwitch: {"Switch to {user}", "Zu {user} wechseln"},
	SignInStay:   {"Stay signed in as {user}", "Als {user} angemeldet bleiben"},
	SignInFailed: {
		"Signing in did not work. The bot's log has the reason.",
		"Die Anmeldung hat nicht funktioniert. Der Grund steht im Log des Bots.",
	},
	SignInLinkSpent: {
		"This link was used already or has expired.",
		"Dieser Link wurde schon benutzt oder ist abgelaufen.",
	},
	SignInNewLink: {
		"The bot's operator makes a new one with: {command}",
		"Der Betreiber des Bots erstellt einen neuen mit: {command}",
	},
	SignInNeedsLink: {
		"You need a link to sign in. The bot's operator makes one with: {command}",
		"Zum Anmelden brauchst du einen Link. Der Betreiber des Bots erstellt einen mit: {command}",
	},
	SignInAskForLink: {
		"Ask the bot's operator for a new link.",
		"Bitte den Betreiber des Bots um einen neuen Link.",
	},
	SignInDemoLink: {
		"The terminal in which the demo runs shows a new link.",
		"Das Terminal, in dem die Demo läuft, zeigt einen neuen Link.",
	},
	SignInUnchecked: {
		"Your sign-in could not be checked. Try again in a moment.",
		"Deine Anmeldung ließ sich nicht prüfen. Versuche es gleich noch einmal.",
	},
	SignInTooMany: {
		"Too many wrong attempts. Try again in {count} {count|second|seconds}.",
		"Zu viele falsche Versuche. Versuche es in {count} {count|Sekunde|Sekunden} wieder.",
	},
	SignOutNotStored: {
		"You are signed out, but only until the bot restarts. The bot's log has the reason.",
		"Du bist abgemeldet, aber nur, bis der Bot neu startet. Der Grund steht im Log des Bots.",
	},
	RoleChat:         {"chat", "Chat"},
	RoleOperator:     {"operator", "Betreiber"},
	RefusedOperators: {"Only operators may do this.", "Das dürfen nur Betreiber."},
	RefusedOtherSite: {
		"This request came from another site's page.",
		"Diese Anfrage kam von der Seite einer anderen Website.",
	},
	RefusedHost: {
		"This server is not known as {host}. If it should be, add that name to http.hosts in the config.",
		"Dieser Server ist nicht als {host} bekannt. Wenn er es sein soll, ergänze den Namen in http.hosts in den Einstellungen.",
	},
	TitleBadLink:      {"This link does not work", "Dieser Link funktioniert nicht"},
	TitlePleaseWait:   {"Please wait", "Bitte warten"},
	TitleDidNotWork:   {"That did not work", "Das hat nicht funktioniert"},
	TitleCannotDoThis: {"You cannot do this", "Das geht nicht"},
}
