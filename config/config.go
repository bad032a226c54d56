// Package config defines nanobot's configuration: its Go types and defaults, loading from a file
// and from environment variables, checks that report every mistake with its position, and the JSON
// Schema. It does not know the names of channels and protocols, nor how the program uses the
// values.
package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Config is the whole configuration. Keys in the file are written in camelCase.
//
// The struct tags are the source of the schema: bounds and descriptions are written only here.
// Values of type Secret and values below a field tagged secret:"all" are never printed. Every
// number has a maximum, so that converting it (to bytes or nanoseconds, for example) cannot
// overflow.
type Config struct {
	// Schema lets an editor find the JSON Schema. nanobot ignores it.
	Schema    string              `json:"$schema,omitempty" jsonschema_description:"Path or URL of this file's JSON Schema, for editors."`
	Workspace string              `json:"workspace" jsonschema_description:"The folder that agents work in, relative to the config file. Default: the config file's folder."`
	Terminal  Terminal            `json:"terminal" jsonschema_description:"The agent named default, and how it is run."`
	Agents    Agents              `json:"agents" jsonschema_description:"More agents, by name: 1 to 32 lower-case letters, digits and hyphens. Each has the keys of terminal, with the same defaults. People choose one with /agent."`
	Channels  Channels            `json:"channels" jsonschema_description:"The chat networks."`
	HTTP      HTTP                `json:"http" jsonschema_description:"The HTTP server for the chat page, its API, health checks, metrics and webhooks."`
	Hooks     map[string]*Hook    `json:"hooks" jsonschema_description:"Addresses of the HTTP server, /hooks/NAME, at which other programs post what a chat or an agent is told, by name: letters, digits, hyphens and underscores."`
	Gateway   Gateway             `json:"gateway" jsonschema_description:"Queues, delivery and the state folder."`
	Log       Log                 `json:"log" jsonschema_description:"Level and format of the log."`
	Audit     Audit               `json:"audit" jsonschema_description:"The record of who started which turn."`
	Runbooks  Runbooks            `json:"runbooks" jsonschema_description:"Procedures whose steps must be proved in order."`
	Roles     Roles               `json:"roles" jsonschema_description:"People with more or fewer rights than others, as channel:userid, such as telegram:123456. As soon as a list names somebody, everybody else is a user."`
	Quotas    []Quota             `json:"quotas" jsonschema_description:"Limits for what messages use in a day, which begins at midnight of gateway.timezone. A message is refused before its turn starts, never in the middle of it."`
	Routes    []Route             `json:"routes" jsonschema_description:"Rules about which agent answers which messages. The first rule that matches counts; if there are rules and none matches, the agent named default answers."`
	Schedules map[string]Schedule `json:"schedules" jsonschema_description:"Messages at certain times, by a name of your choice: letters, digits, hyphens and underscores."`

	file            string                // absolute path of the loaded file; "" if there is none
	locate          func(Problem) Mistake // adds the position; a function, since fmt would print the text of the file
	containsSecrets bool                  // the file contains a literal secret, not only references
	extensions      Extensions            // the sections of channels and protocols
	sections        []channelSection      // of the channels
	agentName       string                // the agent that ForAgent moved into Terminal; "": the default one
}

// MaxTimeout is the maximum of terminal.timeout: ten years in seconds. The schema tag repeats it.
const MaxTimeout = 315360000

// Terminal configures one agent: its command, its protocol and how it is run.
type Terminal struct {
	// Enabled is nil if the key is absent; the agent is then on if it has a command.
	Enabled      *bool               `json:"enabled,omitempty" jsonschema_description:"Switches the agent on or off; when it is off, the bot says so. Default: on if a command is set."`
	Command      string              `json:"command" jsonschema_description:"The shell command to run. {message} is replaced by the user's text as one quoted word; use it after --, after grep -e or as --name={message}."`
	Stdin        string              `json:"stdin" jsonschema:"enum=envelope,enum=text,enum=none" jsonschema_description:"What the agent reads on stdin: the envelope, the user's text alone, or nothing."`
	Timeout      int                 `json:"timeout" unit:"seconds" jsonschema:"minimum=1,maximum=315360000" jsonschema_description:"Seconds that a turn may take before the agent is killed. Waiting for a person does not count, nor does time in which the daemon itself is suspended."`
	Protocol     string              `json:"protocol"`
	PassMedia    bool                `json:"passMedia" jsonschema_description:"Whether the agent is given the paths of the user's files."`
	Env          map[string]string   `json:"env" secret:"all" jsonschema_description:"Extra environment variables for the agent."`
	Providers    map[string]Provider `json:"providers" secret:"all" jsonschema_description:"API keys for the agent, by a name of your choice. They are passed in the envelope."`
	Progress     string              `json:"progress" jsonschema:"enum=edit,enum=message,enum=off" jsonschema_description:"How progress is shown: one message that is edited in place, one message for each frame, or not at all."`
	Format       string              `json:"format,omitempty" jsonschema:"enum=auto,enum=markdown,enum=text,enum=code" jsonschema_description:"How the agent's text is shown: as Markdown, as it is (text), or monospaced with its columns (code). With auto, fences, tables and lists make it Markdown; otherwise columns or indented lines make it code; anything else is text. Default: auto with protocol plain, markdown with rich; other protocols have their own rules."`
	Stderr       string              `json:"stderr" jsonschema:"enum=always,enum=onError,enum=never" jsonschema_description:"When the people whom revealErrors names see what the agent prints on stderr: always, only if the turn fails, or never."`
	RevealErrors Selection           `json:"revealErrors" jsonschema_description:"Who sees stderr and exit codes: true for everybody, false for nobody, or a list of chat IDs."`
	MediaRoots   []string            `json:"mediaRoots" jsonschema_description:"Folders that the agent may send files from. Default: the workspace, the chat's folder and the temporary folder."`
	Cwd          string              `json:"cwd" jsonschema_description:"The agent's working directory. Default: the workspace."`
	Shell        string              `json:"shell" jsonschema:"minLength=1" jsonschema_description:"The shell that runs the command with -c. A command without shell syntax and builtins is executed directly, except in a sandbox."`
	MaxLine      int                 `json:"maxLine" unit:"bytes" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Maximum length of an output line in bytes. A longer line is skipped, and the user is told."`
	MaxOutput    int                 `json:"maxOutput" unit:"bytes" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Maximum size of plain output in bytes. The middle of a longer output is left out, and the user is told."`
	ProviderEnv  bool                `json:"providerEnv" jsonschema_description:"Also sets a variable for each provider: NAME_API_KEY with its first key and NAME_API_KEYS with all of them."`
	Interactive  bool                `json:"interactive" jsonschema_description:"Keeps stdin open, so that the agent can ask questions."`
	Protocols    Protocols           `json:"-"` // their keys are siblings of the keys of Terminal
	Warm         Warm                `json:"warm" jsonschema_description:"Processes of the agent that are started before their message, so that nobody waits for the start of an interpreter. For the protocols plain and rich. The agent must do nothing before it reads the envelope, and does not get the variables of the message."`
	Limits       Limits              `json:"limits" jsonschema_description:"Limits of what the agent may use. Its time is limited by timeout."`
	Sandbox      string              `json:"sandbox" jsonschema_description:"How the agent is confined: none, landlock (it can read the system, and write only to the workspace, its chat's folder, its own temporary folder and sandboxPaths), or a command to which the agent's command is appended, such as bwrap."`
	SandboxPaths []string            `json:"sandboxPaths" jsonschema_description:"More files, folders and Unix sockets that the agent may use under landlock. Append :ro to allow only reading."`
	// SandboxRequired applies to Limits as well.
	SandboxRequired bool              `json:"sandboxRequired" jsonschema_description:"Refuses to start if this machine cannot apply the limits or the sandbox, or if the sandbox would leave a secret readable. Otherwise the daemon starts, and the log and doctor report it."`
	User            string            `json:"user" jsonschema_description:"Runs the agent as this user. The daemon must be started by root, and the agent's user must not be able to replace the workspace or a folder above it."`
	Labels          []string          `json:"labels" jsonschema_description:"Only members that have all of these labels run the agent; see gateway.member. Its messages wait while there is none."`
	Hear            map[string]string `json:"hear" jsonschema_description:"Commands that turn files into text before a turn, by the type of the file, such as audio/* or application/pdf. {file} is replaced by the file as one word, and what the command prints is added to the message."`
	HearTimeout     int               `json:"hearTimeout" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds that a command of hear or speak may take."`
	Speak           Speak             `json:"speak" jsonschema_description:"A command that makes a voice note of an answer."`
	PassHistory     int               `json:"passHistory" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"How many earlier turns the envelope contains, as history."`
	// Approvers may answer permission requests and approve blocks. Any user may answer an agent's
	// questions.
	Approvers  []string             `json:"approvers" jsonschema_description:"People who may give permission when the agent asks for it, as channel:userid, such as telegram:123456. Empty: everybody who may talk to the bot, or with roles, approvers and owners."`
	Protect    []string             `json:"protect" jsonschema_description:"More files that the agent may change through nanobot only if a person agrees to each change, besides .git, .vscode, shell start-up files and others that security.md lists: names or relative paths, with * for a part of a name, such as Makefile or ci/*.sh. They apply at any depth, and a folder includes all its files."`
	MCPServers map[string]MCPServer `json:"mcpServers" secret:"all" jsonschema_description:"MCP servers for the agent besides nanobot's own, by a name of your choice: a command with args and env, or a url with headers."`
}

// On reports whether the agent is enabled, explicitly or by having a command.
func (t Terminal) On() bool {
	if t.Enabled != nil {
		return *t.Enabled
	}
	return t.Command != ""
}

// Provider is an API provider whose keys are passed to the agent.
type Provider struct {
	APIKeys []Secret `json:"apiKeys" jsonschema:"required,minItems=1" jsonschema_description:"One or more keys, or references to them: file:/path, env:NAME or cred:NAME. The agent chooses which one it uses."`
	Models  []string `json:"models,omitempty" jsonschema_description:"Models that this provider offers."`
	BaseURL string   `json:"baseUrl,omitempty" jsonschema_description:"Base URL of the API, if it is not the usual one."`
}

// HTTP configures the HTTP server.
type HTTP struct {
	Listen        string   `json:"listen" jsonschema_description:"Address to listen on, such as 127.0.0.1:8080. Empty: no HTTP server."`
	Hosts         []string `json:"hosts" jsonschema_description:"Host names under which browsers may open the page, such as bot.example.com. localhost always works."`
	Proxies       []string `json:"proxies" jsonschema_description:"Reverse proxies on other machines whose X-Forwarded-For header is trusted, such as 172.18.0.2 or 172.18.0.0/16. Proxies on this machine are always trusted."`
	MetricsListen string   `json:"metricsListen" jsonschema_description:"A second address on this machine, such as 127.0.0.1:9464, that serves only /metrics, without a token. Do not put a proxy in front of it."`
	Token         Secret   `json:"token" jsonschema_description:"Token with which scripts use the API as an operator: at least 16 characters, or file:/path, env:NAME or cred:NAME. Required for the page if other machines can reach it without a proxy."`
}

// Gateway configures the queues, delivery and the state folder.
type Gateway struct {
	MaxConcurrent int    `json:"maxConcurrent" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"Maximum number of agents that run at the same time. An agent that waits for an answer counts, except with protocol blocks."`
	WhileRunning  string `json:"whileRunning" jsonschema:"enum=queue,enum=interrupt,enum=reject,enum=inject" jsonschema_description:"What happens to a message that arrives during a turn of its chat: it waits, stops the turn, is refused, or is given to the running agent."`
	QueueLimit    int    `json:"queueLimit" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Maximum number of messages that wait in one chat."`
	OnCrash       string `json:"onCrash" jsonschema:"enum=report,enum=retry" jsonschema_description:"What happens to a turn that was running when the daemon crashed: the chat is told and gets a button to run it again, or it is run again, three times in all."`
	Delivery      string `json:"delivery" jsonschema:"enum=atLeastOnce,enum=atMostOnce" jsonschema_description:"What happens when nobody knows whether a message was sent: it is sent again with a leading ↻, or it is not sent again and listed as unknown."`
	Gather        int    `json:"gather" unit:"milliseconds" jsonschema:"minimum=0,maximum=60000" jsonschema_description:"How long a message waits for further messages of the same person in the chat, in milliseconds; they become one turn. Each of them begins the wait again, up to a minute altogether. Commands and buttons do not wait. 0: every message is a turn of its own; what an app sends in pieces is one message anyway."`
	RatePerMinute int    `json:"ratePerMinute" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Number of messages that a user may send per minute; 0: no limit. Commands may reach twice that number, and /stop always works. The user is told once a minute."`
	DrainTimeout  int    `json:"drainTimeout" unit:"seconds" jsonschema:"minimum=0,maximum=86400" jsonschema_description:"Seconds that running turns get to finish when the daemon is stopped."`
	Files         Files  `json:"files" jsonschema_description:"The files that people send, in the folders of their chats."`
	Keep          Keep   `json:"keep" jsonschema_description:"How long what the daemon stores is kept."`
	Language      string `json:"language" jsonschema:"enum=auto,enum=en,enum=de" jsonschema_description:"Language of the bot's own texts in chats; auto: each person's, where the network tells it, else English."`
	Timezone      string `json:"timezone" jsonschema_description:"The time zone of schedules, reminders and days of usage, such as Europe/Berlin. Default: that of the system."`
	// Words are checked by Extensions.Words, since this package does not know the texts.
	Words    map[string]string `json:"words" jsonschema_description:"The bot's own texts in other words: the name of a text and the text, or with a name such as queued.de the text in one language. nanobot words lists them."`
	Record   string            `json:"record" jsonschema_description:"Records every turn as a cassette in this folder, for nanobot replay, relative to gateway.stateDir. It must be out of reach of agents. Cassettes are kept as long as messages. Default: nothing is recorded."`
	StateDir string            `json:"stateDir" jsonschema_description:"The state folder, relative to the workspace. Default: $STATE_DIRECTORY, or .nanobot in the workspace; with gateway.store, .nanobot/NAME with the name of the member."`
	Store    string            `json:"store" jsonschema_description:"The PostgreSQL database that several daemons share, such as postgres://user@host,host2/database. Default: a file in gateway.stateDir, for one daemon."`
	// StorePassword is apart from Store, so that the URL can be shown.
	StorePassword Secret `json:"storePassword" jsonschema_description:"The password of the user in gateway.store, or file:/path, env:NAME or cred:NAME."`
	Bot           string `json:"bot" jsonschema_description:"The name of this bot in the database, whose schema is nanobot_NAME. Required with gateway.store."`
	Member        Member `json:"member" jsonschema_description:"This daemon, as one of several that share gateway.store."`
}

// Files configures the files that people send.
type Files struct {
	Max      int `json:"max" unit:"MiB" jsonschema:"minimum=0,maximum=1073741824" jsonschema_description:"Maximum size in MiB of all received files of one chat together; 0: no limit. A file beyond it is refused, and its message is received without it."`
	KeepDays int `json:"keepDays" unit:"days" jsonschema:"minimum=0,maximum=36500" jsonschema_description:"Days after which received files are removed, oldest first, if nobody has changed or moved them; 0: never."`
}

// Keep configures how long what the daemon stores is kept, in days. A Config that was not loaded
// has 0: no limit.
type Keep struct {
	Messages    int `json:"messages" unit:"days" jsonschema:"minimum=1,maximum=36500" jsonschema_description:"Days after which finished messages are removed from the state, with their transcripts, answers and questions."`
	MaxMessages int `json:"maxMessages" jsonschema:"minimum=100,maximum=1000000000" jsonschema_description:"Most finished messages in the state, and most answers and questions; older ones are removed also before messages says so."`
	History     int `json:"history" unit:"days" jsonschema:"minimum=1,maximum=36500" jsonschema_description:"Days after which messages are removed from the chat page."`
	Usage       int `json:"usage" unit:"days" jsonschema:"minimum=2,maximum=36500" jsonschema_description:"Days after which usage is removed."`
	Memories    int `json:"memories" unit:"days" jsonschema:"minimum=90,maximum=36500" jsonschema_description:"Days after the last message of a chat at which its choices and the memories of its agents are removed."`
	Runs        int `json:"runs" unit:"days" jsonschema:"minimum=0,maximum=36500" jsonschema_description:"Days without activity after which runs of runbooks that people have begun are removed with their records; 0: never. Those of agents are removed with messages."`
}

// Log configures logging.
type Log struct {
	Level  string `json:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"The lowest level that is logged."`
	Format string `json:"format" jsonschema:"enum=auto,enum=console,enum=json" jsonschema_description:"Format of a log line; auto is console on a terminal and json elsewhere."`
}

// Default returns the defaults of all keys that do not belong to a channel or a protocol.
// Extensions.Default adds those.
func Default() Config {
	return Config{
		Terminal: Terminal{
			Stdin: "envelope", Timeout: 120, PassMedia: true, Progress: "edit", Stderr: "always",
			Env: map[string]string{}, Providers: map[string]Provider{}, MediaRoots: []string{},
			Sandbox: "none", SandboxPaths: []string{}, Approvers: []string{}, Protect: []string{}, Labels: []string{},
			MCPServers: map[string]MCPServer{},
			Warm:       Warm{For: 300, Watch: []string{}},
			Hear:       map[string]string{}, HearTimeout: 300, Speak: Speak{When: SpeakVoice},
			RevealErrors: Selection{All: true}, Shell: "/bin/sh", MaxLine: 16 << 20, MaxOutput: 4 << 20,
		},
		Roles:  Roles{Owner: []string{}, Approver: []string{}, Guest: []string{}},
		Agents: Agents{}, Schedules: map[string]Schedule{}, Routes: []Route{}, Quotas: []Quota{},
		HTTP:  HTTP{Hosts: []string{}, Proxies: []string{}},
		Hooks: map[string]*Hook{},
		Gateway: Gateway{
			MaxConcurrent: 8, WhileRunning: "queue", QueueLimit: 20, OnCrash: "report",
			Delivery: "atLeastOnce", DrainTimeout: 30, Files: Files{Max: 2048},
			Keep:     Keep{Messages: 30, MaxMessages: 100_000, History: 30, Usage: 400, Memories: 400},
			Language: "auto", Words: map[string]string{},
			Member: Member{TTL: 10, Labels: []string{}},
		},
		Log:      Log{Level: "info", Format: "auto"},
		Audit:    Audit{MaxSize: 10, Keep: 5},
		Runbooks: Runbooks{Folder: "runbooks", Approvers: []string{}, AgentShell: "trust"},
	}
}

// AuditOff is the value of audit.file that disables the audit log.
const AuditOff = "off"

// Audit configures the audit log.
type Audit struct {
	File    string `json:"file" jsonschema_description:"File of the audit log, relative to the workspace, or off. Default: audit.jsonl in gateway.stateDir."`
	MaxSize int    `json:"maxSize" unit:"MiB" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"Size in MiB at which the file is rotated."`
	Keep    int    `json:"keep" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"Number of rotated files to keep."`
	Text    bool   `json:"text" jsonschema_description:"Also records the text of messages."`
}

// On reports whether the audit log is enabled. A Config that was not loaded has no file name and
// writes no log.
func (a Audit) On() bool { return a.File != "" && a.File != AuditOff }

// resolvePaths makes the path of the log absolute.
func (a *Audit) resolvePaths(workspace, stateDir, home string) {
	switch {
	case strings.TrimSpace(a.File) == "":
		a.File = absolutePath(stateDir, "audit.jsonl", home)
	case a.File != AuditOff:
		a.File = absolutePath(workspace, a.File, home)
	}
}

// Runbooks configures runbooks.
type Runbooks struct {
	Folder string `json:"folder" jsonschema:"minLength=1" jsonschema_description:"Folder with the runbooks (*.md), relative to the workspace. An agent in a sandbox can read it but not change it."`
	// Approvers and AgentShell decide which proofs of a step are accepted.
	Approvers  []string `json:"approvers" jsonschema_description:"People who may approve steps of runbooks, as channel:userid, such as telegram:123456. Empty: everybody who may talk to the bot, or with roles, approvers and owners."`
	AgentShell string   `json:"agentShell" jsonschema:"enum=trust,enum=check" jsonschema_description:"Whether nanobot trusts an agent that reports exit status 0 for a step's command, or runs the command itself to check."`
}

func checkRunbooks(c *Config) []Problem {
	return append(checkRunbookFolder(c), checkApprovers(c, splitKey("runbooks.approvers"), c.Runbooks.Approvers)...)
}

// checkRunbookFolder rejects the workspace and folders above it, because a sandbox makes the
// runbook folder read-only for agents.
func checkRunbookFolder(c *Config) []Problem {
	folder := strings.TrimSpace(c.Runbooks.Folder)
	at := splitKey("runbooks.folder")
	if folder == "" {
		return []Problem{{Path: at, Text: "must be the path of a folder"}}
	}
	if clean := filepath.Clean(folder); clean == "." || clean == ".." || strings.HasSuffix(clean, "/..") {
		return []Problem{{
			Path: at,
			Text: "must not be the workspace or a folder above it, because agents in a sandbox cannot change its files",
		}}
	}
	return nil
}

// Environment variables that describe the current message to an agent. They have the prefix of
// variables that set config keys, but set none, so that an agent can run nanobot itself.
const (
	TextVariable        = "NANOBOT_TEXT"
	TruncatedVariable   = "NANOBOT_TEXT_TRUNCATED" // "1" if the text was too long for an environment variable
	ChatIDVariable      = "NANOBOT_CHAT_ID"
	UserIDVariable      = "NANOBOT_USER_ID"
	UserNameVariable    = "NANOBOT_USER_NAME"
	UserDataDirVariable = "NANOBOT_USER_DATA_DIR"
	TokenVariable       = "NANOBOT_CHAT_TOKEN" // authenticates the process and identifies its chat
	SocketVariable      = "NANOBOT_SOCKET"     // path of the socket on which the daemon serves MCP tools
	FileVariable        = "NANOBOT_FILE"       // path of the file of a command of hear and speak
)

// agentVariables lists every variable that nanobot sets for an agent. The last three identify the
// turn, the daemon and the process.
var agentVariables = []string{
	TextVariable, TruncatedVariable, ChatIDVariable, UserIDVariable, UserNameVariable, UserDataDirVariable, TokenVariable,
	SocketVariable, FileVariable,
	"NANOBOT_RUN", "NANOBOT_KEPT", "NANOBOT_CHILD",
}

// isReservedVariable reports whether a variable has the prefix NANOBOT_ but sets no config key.
func isReservedVariable(name string) bool {
	return name == "NANOBOT_CONFIG" || slices.Contains(agentVariables, name) || isServiceVariable(name)
}

// Limits bounds the resources of the agent; 0 means no limit. Terminal.Timeout bounds its run time.
type Limits struct {
	// Memory is in MiB, CPU in seconds.
	Memory    int `json:"memory" unit:"MiB" jsonschema:"minimum=0,maximum=16777216" jsonschema_description:"Memory in MiB for the agent and its descendants together, or for each process if no cgroup can count them together; 0: no limit."`
	CPU       int `json:"cpu" unit:"seconds" jsonschema:"minimum=0,maximum=315360000" jsonschema_description:"CPU time in seconds for each process of the agent; 0: no limit."`
	Processes int `json:"processes" jsonschema:"minimum=0,maximum=4194304" jsonschema_description:"Maximum number of processes and threads of the agent; 0: no limit. Needs a cgroup or terminal.user."`
	Files     int `json:"files" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"Maximum number of open files for each process of the agent; 0: no limit."`
}

// ReadOnlySuffix at the end of an entry of terminal.sandboxPaths makes the path read-only.
const ReadOnlySuffix = ":ro"

func checkSandbox(t agentSection) []Problem {
	var all []Problem
	for name, s := range map[string]string{"sandbox": t.Sandbox, "user": t.User} {
		if isBlank(s) {
			all = append(all, Problem{Path: t.keyPath(name), Text: "must not be blank"})
		}
	}
	for i, path := range t.SandboxPaths {
		if strings.TrimSpace(strings.TrimSuffix(path, ReadOnlySuffix)) == "" {
			all = append(all, Problem{
				Path: joinPath(t.keyPath("sandboxPaths"), strconv.Itoa(i)),
				Text: "must be the path of a file or folder",
			})
		}
	}
	if len(t.SandboxPaths) > 0 && t.Sandbox != "landlock" {
		all = append(all, Problem{
			Path: t.keyPath("sandboxPaths"), Cause: t.keyPath("sandbox"),
			Text: fmt.Sprintf(`needs %s.sandbox to be "landlock"`, t.dottedKey),
		})
	}
	return all
}

// resolveSandboxPaths makes the entries of SandboxPaths absolute.
func (t *Terminal) resolveSandboxPaths(workspace, home string) {
	for i, path := range t.SandboxPaths {
		path, readOnly := strings.CutSuffix(path, ReadOnlySuffix)
		t.SandboxPaths[i] = absolutePath(workspace, path, home)
		if readOnly {
			t.SandboxPaths[i] += ReadOnlySuffix
		}
	}
}
