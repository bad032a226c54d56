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
	Workspace string              `json:"workspace" jsonschema_description:"The agents' folder. Default: the config file's folder."`
	Terminal  Terminal            `json:"terminal" jsonschema_description:"The agent named default."`
	Agents    Agents              `json:"agents" jsonschema_description:"More agents, by name: up to 32 lower-case letters, digits and hyphens. Each has the keys of terminal."`
	Channels  Channels            `json:"channels" jsonschema_description:"The chat networks."`
	HTTP      HTTP                `json:"http" jsonschema_description:"The HTTP server of the chat page, its API, health checks, metrics and webhooks."`
	Hooks     map[string]*Hook    `json:"hooks" jsonschema_description:"Addresses /hooks/NAME at which other programs post messages."`
	Gateway   Gateway             `json:"gateway" jsonschema_description:"Queues, delivery and the state folder."`
	Log       Log                 `json:"log" jsonschema_description:"Level and format of the log."`
	Audit     Audit               `json:"audit" jsonschema_description:"The record of who started which turn."`
	Runbooks  Runbooks            `json:"runbooks" jsonschema_description:"Procedures whose steps must be proved in order."`
	Roles     Roles               `json:"roles" jsonschema_description:"People by their rights, such as telegram:123456. Once a list names somebody, everybody else is a user."`
	Routes    []Route             `json:"routes" jsonschema_description:"Rules about which agent answers. The first that matches counts; if none does, default answers."`
	Quotas    []Quota             `json:"quotas" jsonschema_description:"Daily limits, from midnight of gateway.timezone. They refuse messages, and never end a running turn."`
	Schedules map[string]Schedule `json:"schedules" jsonschema_description:"Messages at certain times, by name."`

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
	Enabled      *bool               `json:"enabled,omitempty" jsonschema_description:"Whether the agent runs; if not, the bot says so. Default: on if a command is set."`
	Command      string              `json:"command" jsonschema_description:"The shell command. {message} is replaced by the user's text as one quoted word; put it after --."`
	Stdin        string              `json:"stdin" jsonschema:"enum=envelope,enum=text,enum=none" jsonschema_description:"What the agent reads: the envelope, the user's text, or nothing."`
	Timeout      int                 `json:"timeout" unit:"seconds" jsonschema:"minimum=1,maximum=315360000" jsonschema_description:"Seconds that a turn may take, without the time that a person takes to answer."`
	Protocol     string              `json:"protocol"`
	PassMedia    bool                `json:"passMedia" jsonschema_description:"Whether the agent gets the paths of the user's files."`
	Env          map[string]string   `json:"env" secret:"all" jsonschema_description:"More environment variables of the agent."`
	Providers    map[string]Provider `json:"providers" secret:"all" jsonschema_description:"API keys for the agent, by name, passed in the envelope."`
	Progress     string              `json:"progress" jsonschema:"enum=edit,enum=message,enum=off" jsonschema_description:"How progress is shown: one message that is edited, a message for each frame, or not at all."`
	Format       string              `json:"format,omitempty" jsonschema:"enum=auto,enum=markdown,enum=text,enum=code" jsonschema_description:"How text is shown: by its form (auto), as Markdown, unchanged, or monospaced. Default: auto with protocol plain, markdown with rich."`
	Stderr       string              `json:"stderr" jsonschema:"enum=always,enum=onError,enum=never" jsonschema_description:"When those whom revealErrors names see stderr; onError: only if the turn fails."`
	RevealErrors Selection           `json:"revealErrors" jsonschema_description:"Who sees stderr and exit codes: everybody, nobody, or these chat IDs."`
	MediaRoots   []string            `json:"mediaRoots" jsonschema_description:"Folders from which the agent may send files. Default: the workspace, the chat's folder, the temporary folder."`
	Cwd          string              `json:"cwd" jsonschema_description:"The working directory. Default: the workspace."`
	Shell        string              `json:"shell" jsonschema:"minLength=1" jsonschema_description:"The shell, called with -c if the command needs one."`
	MaxLine      int                 `json:"maxLine" unit:"bytes" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Maximum length of an output line in bytes. A longer one is skipped, with a note."`
	MaxOutput    int                 `json:"maxOutput" unit:"bytes" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Maximum size of plain output in bytes. A longer one loses its middle, with a note."`
	ProviderEnv  bool                `json:"providerEnv" jsonschema_description:"Also sets NAME_API_KEY (the first key) and NAME_API_KEYS (all) for each provider."`
	Interactive  bool                `json:"interactive" jsonschema_description:"Keeps stdin open, so that the agent can ask questions."`
	Protocols    Protocols           `json:"-"` // their keys are siblings of the keys of Terminal
	Warm         Warm                `json:"warm" jsonschema_description:"Processes that start before their message."`
	Limits       Limits              `json:"limits" jsonschema_description:"What the agent may use; 0: no limit."`
	Sandbox      string              `json:"sandbox" jsonschema_description:"none, landlock, or a command such as bwrap to which the agent's command is appended."`
	SandboxPaths []string            `json:"sandboxPaths" jsonschema_description:"More files, folders and sockets for the agent under landlock; with :ro only for reading."`
	// SandboxRequired applies to Limits as well.
	SandboxRequired bool              `json:"sandboxRequired" jsonschema_description:"Refuses to start if the sandbox or the limits cannot be applied, or a secret stays readable."`
	User            string            `json:"user" jsonschema_description:"The user who runs the agent. Needs a daemon started by root."`
	Labels          []string          `json:"labels" jsonschema_description:"The agent runs only on members with all these labels."`
	Hear            map[string]string `json:"hear" jsonschema_description:"Commands that turn files into text, by type, such as audio/* or application/pdf. {file} is the file."`
	HearTimeout     int               `json:"hearTimeout" unit:"seconds" jsonschema:"minimum=1,maximum=86400" jsonschema_description:"Seconds that a command of hear or speak may take."`
	Speak           Speak             `json:"speak" jsonschema_description:"Voice notes of answers."`
	PassHistory     int               `json:"passHistory" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"How many earlier turns the envelope contains."`
	// Approvers may answer permission requests and approve blocks. Any user may answer an agent's
	// questions.
	Approvers  []string             `json:"approvers" jsonschema_description:"People who may give the agent permission, such as telegram:123456. Empty: everybody, or with roles, approvers and owners."`
	Protect    []string             `json:"protect" jsonschema_description:"More files that the agent changes through nanobot only if a person agrees to each change, such as Makefile or ci/*.sh."`
	MCPServers map[string]MCPServer `json:"mcpServers" secret:"all" jsonschema_description:"More MCP servers for the agent, by name."`
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
	APIKeys []Secret `json:"apiKeys" jsonschema:"required,minItems=1" jsonschema_description:"The keys, such as file:key.txt. The agent chooses one."`
	Models  []string `json:"models,omitempty" jsonschema_description:"The provider's models."`
	BaseURL string   `json:"baseUrl,omitempty" jsonschema_description:"The API's base URL, if it is not the usual one."`
}

// HTTP configures the HTTP server.
type HTTP struct {
	Listen        string   `json:"listen" jsonschema_description:"Address such as 127.0.0.1:8080. Empty: no server."`
	Hosts         []string `json:"hosts" jsonschema_description:"Names under which browsers may open the page, besides localhost."`
	Proxies       []string `json:"proxies" jsonschema_description:"Reverse proxies on other machines whose X-Forwarded-For is trusted, such as 172.18.0.0/16."`
	MetricsListen string   `json:"metricsListen" jsonschema_description:"A second local address that serves only /metrics, without a token, such as 127.0.0.1:9464. Do not put a proxy in front."`
	Token         Secret   `json:"token" jsonschema_description:"Token of scripts that use the API as an operator, at least 16 characters. Required if other machines reach the page without a proxy."`
}

// Gateway configures the queues, delivery and the state folder.
type Gateway struct {
	MaxConcurrent int    `json:"maxConcurrent" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"How many agents may run at the same time. One that waits for an answer counts, except with protocol blocks."`
	WhileRunning  string `json:"whileRunning" jsonschema:"enum=queue,enum=interrupt,enum=reject,enum=inject" jsonschema_description:"A message during a turn waits, stops the turn, is refused, or goes to the running agent."`
	QueueLimit    int    `json:"queueLimit" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"How many messages may wait in one chat."`
	OnCrash       string `json:"onCrash" jsonschema:"enum=report,enum=retry" jsonschema_description:"A turn that a crash interrupted is reported with a button to repeat it, or repeated, three times in all."`
	Delivery      string `json:"delivery" jsonschema:"enum=atLeastOnce,enum=atMostOnce" jsonschema_description:"A message that may have been sent is sent again with ↻, or not again and listed as unknown."`
	Gather        int    `json:"gather" unit:"milliseconds" jsonschema:"minimum=0,maximum=60000" jsonschema_description:"How long a message waits for more of the same person, in milliseconds. They become one turn; each begins the wait again, up to a minute."`
	RatePerMinute int    `json:"ratePerMinute" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Messages of a user per minute; 0: no limit. Commands may be twice as many; /stop always works."`
	DrainTimeout  int    `json:"drainTimeout" unit:"seconds" jsonschema:"minimum=0,maximum=86400" jsonschema_description:"Seconds that running turns get when the daemon stops."`
	Files         Files  `json:"files" jsonschema_description:"Files that people send."`
	Keep          Keep   `json:"keep" jsonschema_description:"How long data is kept."`
	Language      string `json:"language" jsonschema:"enum=auto,enum=en,enum=de" jsonschema_description:"Language of the bot's own texts; auto: each person's if the network tells it, else English."`
	Timezone      string `json:"timezone" jsonschema_description:"Time zone of schedules, reminders and quotas, such as Europe/Berlin. Default: the system's."`
	// Words are checked by Extensions.Words, since this package does not know the texts.
	Words    map[string]string `json:"words" jsonschema_description:"The bot's own texts in other words, by name, such as queued or queued.de. nanobot words lists them."`
	Record   string            `json:"record" jsonschema_description:"Folder for cassettes of all turns, out of reach of agents. Default: nothing is recorded."`
	StateDir string            `json:"stateDir" jsonschema_description:"The state folder. Default: $STATE_DIRECTORY, or .nanobot in the workspace; with gateway.store, .nanobot/MEMBER."`
	Store    string            `json:"store" jsonschema_description:"A PostgreSQL database that several daemons share, such as postgres://user@host,host2/database. Default: a file in stateDir."`
	// StorePassword is apart from Store, so that the URL can be shown.
	StorePassword Secret `json:"storePassword" jsonschema_description:"The password of the user in store."`
	Bot           string `json:"bot" jsonschema_description:"Name of this bot in the store, in schema nanobot_NAME. Required with store."`
	Member        Member `json:"member" jsonschema_description:"This daemon among those that share gateway.store."`
}

// Files configures the files that people send.
type Files struct {
	Max      int `json:"max" unit:"MiB" jsonschema:"minimum=0,maximum=1073741824" jsonschema_description:"Size in MiB of a chat's received files together; 0: no limit. A file beyond it is refused, its message is not."`
	KeepDays int `json:"keepDays" unit:"days" jsonschema:"minimum=0,maximum=36500" jsonschema_description:"Days after which received files are removed, unless somebody changed or moved them; 0: never."`
}

// Keep configures how long what the daemon stores is kept, in days. A Config that was not loaded
// has 0: no limit.
type Keep struct {
	Messages    int `json:"messages" unit:"days" jsonschema:"minimum=1,maximum=36500" jsonschema_description:"Days after which finished messages are removed, with transcripts, answers and questions."`
	MaxMessages int `json:"maxMessages" jsonschema:"minimum=100,maximum=1000000000" jsonschema_description:"How many finished messages, and how many answers and questions, are kept at most."`
	History     int `json:"history" unit:"days" jsonschema:"minimum=1,maximum=36500" jsonschema_description:"Days after which messages are removed from the chat page."`
	Usage       int `json:"usage" unit:"days" jsonschema:"minimum=2,maximum=36500" jsonschema_description:"Days after which usage is removed."`
	Memories    int `json:"memories" unit:"days" jsonschema:"minimum=90,maximum=36500" jsonschema_description:"Days after a chat's last message at which its choices and its agents' memories are removed."`
	Runs        int `json:"runs" unit:"days" jsonschema:"minimum=0,maximum=36500" jsonschema_description:"Days without activity after which runs that people began are removed; 0: never. Runs of agents go with messages."`
}

// Log configures logging.
type Log struct {
	Level  string `json:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"The lowest level that is logged."`
	Format string `json:"format" jsonschema:"enum=auto,enum=console,enum=json" jsonschema_description:"auto: console on a terminal, else json."`
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
	File    string `json:"file" jsonschema_description:"The file, or off. Default: audit.jsonl in gateway.stateDir."`
	MaxSize int    `json:"maxSize" unit:"MiB" jsonschema:"minimum=1,maximum=1048576" jsonschema_description:"Size in MiB at which the file is rotated."`
	Keep    int    `json:"keep" jsonschema:"minimum=0,maximum=1000" jsonschema_description:"Rotated files that are kept."`
	Text    bool   `json:"text" jsonschema_description:"Also records the texts of messages."`
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
	Folder string `json:"folder" jsonschema:"minLength=1" jsonschema_description:"Folder of the runbooks (*.md); agents in a sandbox can only read it."`
	// Approvers and AgentShell decide which proofs of a step are accepted.
	Approvers  []string `json:"approvers" jsonschema_description:"People who may approve steps, as in terminal.approvers."`
	AgentShell string   `json:"agentShell" jsonschema:"enum=trust,enum=check" jsonschema_description:"Trusts an agent's report that a step's command succeeded, or runs the command to check."`
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
	Memory    int `json:"memory" unit:"MiB" jsonschema:"minimum=0,maximum=16777216" jsonschema_description:"Memory in MiB of the agent and its descendants, or of each process where no cgroup counts them."`
	CPU       int `json:"cpu" unit:"seconds" jsonschema:"minimum=0,maximum=315360000" jsonschema_description:"CPU time in seconds of each process."`
	Processes int `json:"processes" jsonschema:"minimum=0,maximum=4194304" jsonschema_description:"Processes and threads. Needs a cgroup or terminal.user."`
	Files     int `json:"files" jsonschema:"minimum=0,maximum=1048576" jsonschema_description:"Open files of each process."`
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
