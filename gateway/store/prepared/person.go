package prepared

import (
	"encoding/json"
	"strings"
)

// PersonTable is a table with rows of a person. The conditions and assignments are SQL of all
// engines. They use these names, for which PersonQuery adds definitions and the engines replace
// the words that begin with @:
//
//	who (channel, person)  the person
//	own (chat)             the person's private chats
//	mine (id)              the inbound messages of the person and of these chats
type PersonTable struct {
	Name   string // in an export; "": it is not exported
	Table  string
	Of     string   // the condition of the person's rows
	Hidden []string // columns that are not exported
	Set    string   // rows are not removed but get these values
	Before string   // a statement that is executed before the rows are removed
}

const (
	isMine    = "IN (SELECT id FROM mine)"
	isOwn     = "chat IN (SELECT chat FROM own)"
	isPerson  = "IN (SELECT person FROM who)"
	onChannel = "EXISTS (SELECT 1 FROM who WHERE chat >= channel || ':' AND chat < channel || ';')"
	// answers is the condition of deliveries. Those of later messages have not been sent yet.
	answers = "inbound " + isMine + " OR about " + isMine + " OR settled > 0 AND " + isOwn
	// made is the condition of the schedules that the person has made.
	made = "maker " + isPerson + " AND " + onChannel
	// limited is the condition of the person's quotas, and of those of their chats.
	limited = "subject IN (SELECT channel || ':' || person FROM who UNION ALL SELECT chat FROM own)"
	used    = "person IN (SELECT channel || ':' || person FROM who) OR person = '' AND " + isOwn
)

// ofParts is the condition of parts of messages.
const ofParts = isOwn + " OR " + onChannel + " AND @sender " + isPerson

// ForwardedTable is the table of forwarded messages, which an engine for several members has.
var ForwardedTable = PersonTable{Table: "forward", Of: ofParts}

// PersonTables are all tables with rows of a person, in the order in which they are removed.
var PersonTables = []PersonTable{
	{ // quotes of the person and of answers to them
		Table: "inbox", Set: "incoming = @without_quote",
		Of: onChannel + " AND id NOT " + isMine + " AND (@quote_user " + isPerson +
			" OR (chat, @quote_id) IN (SELECT chat, receipt FROM outbox WHERE receipt <> '' AND (" + answers + ")))",
	},
	{Table: "spooled", Of: "delivery IN (SELECT id FROM outbox WHERE " + answers + ")"},
	{Name: "questions", Table: "question", Of: "inbound " + isMine + " OR closed > 0 AND " + isOwn},
	{
		Name: "answered_questions", Table: "question", Of: "answered_by " + isPerson + " AND " + onChannel,
		Hidden: []string{"text", "options", "commands", "other_text"},
		Set:    "answer = CASE WHEN answer IS NULL THEN answer ELSE '' END, answered_by = ''",
	},
	{Name: "answers", Table: "outbox", Of: answers, Hidden: []string{"digest", "owner", "op"}},
	{Name: "transcripts", Table: "transcript", Of: "inbound " + isMine},
	{Name: "traces", Table: "trace", Of: "inbound " + isMine},
	{Name: "details", Table: "details", Of: "inbound " + isMine, Hidden: []string{"owner", "op"}},
	{Table: "transient", Of: "inbound " + isMine},
	{Name: "parts", Table: "part", Of: ofParts},
	{Name: "memories", Table: "memory", Of: isOwn},
	{ // the cache of what was heard in the person's files in groups
		Table: "memory", Of: "(key = 'heard' OR key LIKE 'heard:%') AND NOT " + isOwn +
			" AND chat IN (SELECT chat FROM inbox WHERE id " + isMine + ")",
	},
	{Table: "afresh", Of: isOwn},
	{
		Name: "pairing", Table: "pairing", Of: "channel IN (SELECT channel FROM who) AND @person " + isPerson,
		Hidden: []string{"code"},
	},
	{Table: "told_later", Of: "channel IN (SELECT channel FROM who) AND @person " + isPerson},
	{Name: "refused", Table: "refused", Of: isOwn},
	{Name: "occurrences", Table: "occurrence", Of: "schedule IN (SELECT name FROM schedule WHERE " + made + ")"},
	{Name: "schedules", Table: "schedule", Of: made},
	{
		Name: "usage", Table: "usage", Of: used,
		Before: `INSERT INTO usage (at, person, chat, agent, model, whole, turns, took, input_tokens, output_tokens, cost)
			SELECT at, '', CASE WHEN ` + isOwn + ` THEN '' ELSE chat END AS place, agent, model, whole, sum(turns), sum(took),
				sum(input_tokens), sum(output_tokens), sum(cost) FROM usage WHERE ` + used + `
			GROUP BY at, place, agent, model, whole
			ON CONFLICT (at, person, chat, agent, model, whole) DO UPDATE SET turns = usage.turns + excluded.turns,
				took = usage.took + excluded.took, input_tokens = usage.input_tokens + excluded.input_tokens,
				output_tokens = usage.output_tokens + excluded.output_tokens, cost = usage.cost + excluded.cost`,
	},
	{Name: "quotas", Table: "quota", Of: limited},
	{Table: "counted", Of: "inbound " + isMine + " OR " + limited},
	{Table: "quota_told", Of: limited + " OR " + isOwn},
	{
		Name: "role", Table: "record",
		Of: "key IN (SELECT 'role/' || channel || ':' || person FROM who)",
	},
	{Name: "messages", Table: "inbox", Of: "id " + isMine, Hidden: []string{"owner", "op"}},
}

// Remove returns the statement that removes or changes the rows.
func (p PersonTable) Remove() string {
	if p.Set != "" {
		return "UPDATE " + p.Table + " SET " + p.Set + " WHERE " + p.Of
	}
	return "DELETE FROM " + p.Table + " WHERE " + p.Of
}

// PersonQuery returns a statement on rows of a person. definitions are those of who, own and mine,
// and words the pairs of words and what replaces them.
func PersonQuery(definitions, statement string, words ...string) string {
	return "WITH " + definitions + " " + strings.NewReplacer(words...).Replace(statement)
}

// ExportedRow returns a row as JSON, without columns. A text that is an object or a list in JSON is
// exported as that.
func ExportedRow(row map[string]any, hidden []string) (json.RawMessage, error) {
	for _, column := range hidden {
		delete(row, column)
	}
	if secret := row["secret"]; secret == true || secret == int64(1) || secret == float64(1) {
		row["answer"] = nil
	}
	for column, value := range row {
		text, ok := value.(string)
		if ok && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text)) {
			row[column] = json.RawMessage(text)
		}
	}
	return json.Marshal(row)
}
