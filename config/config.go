// Package config describes nanobot's configuration: the struct tree, its defaults, how it is
// loaded from a file and the environment, how it is checked, and its JSON Schema.
// It knows nothing of what the rest of the program does with the values.
package config

// Config is the whole configuration. Keys are camelCase in the file.
//
// The tags are the schema: a value's bounds and its description are written once, here. A field
// tagged secret:"all" holds values that are never shown, as does every Secret. Every number has a
// maximum, so that none can overflow what it is turned into.
type Config struct {
	// Schema lets an editor find the JSON Schema; it changes nothing.
	Schema    string   `json:"$schema,omitempty" jsonschema_description:"Where an editor finds the schema of this file."`
	Workspace string   `json:"workspace" jsonschema_description:"The agent's working folder, relative to the config file. Default: the config file's folder."`
	Terminal  Terminal `json:"terminal" jsonschema_description:"The agent and how it is run."`
	Agents    Agents   `json:"agents" jsonschema_description:"More agents, by a name of 1 to 32 small letters, digits and hyphens. Each has the keys of terminal, which is the agent default. A chat chooses with /agent."`
	Channels  Channels `json:"channels" jsonschema_description:"The chat networks."`
	HTTP      HTTP     `json:"http" jsonschema_description:"One server for the page, the API, health, metrics and the webhooks of chat networks."`
	Gateway   Gateway  `json:"gateway" jsonschema_description:"Queues, delivery and state."`
	Log       Log      `json:"log" jsonschema_description:"What is logged and how."`
	Audit     Audit    `json:"audit" jsonschema_description:"The record of who started what."`
	Runbooks  Runbooks `json:"runbooks" jsonschema_description:"Procedures whose steps must be proved in order."`

	file     string // the file it was loaded from, absolute; "" when there was none
	literals bool   // that file holds secrets themselves, not only references to them
	parts    Parts  // what channels and protocols add
	agent    string // whose section is in the place of terminal; "": terminal itself
}

// MaxTimeout is ten years in seconds, the most that terminal.timeout takes; its schema says the
// same.
const MaxTimeout = 315360000

// Terminal says what the agent is and how it is run.
type Terminal struct {
	// Enabled absent means on when a command is set; explicitly false switches the bot off.
	Enabled      *bool               `json:"enabled,omitempty" jsonschema_description:"Switch the agent on or off. Default: on when a command is set."`
	Command      string              `json:"command" jsonschema_description:"Shell command to run; {message} is replaced by the user's text as one quoted word. It must not be code, and stands best after --, after grep's -e or as --name={message}."`
	Stdin        string              `json:"stdin" jsonschema:"enum=envelope,enum=text,enum=none" jsonschema_description:"What the agent reads on its standard input: the envelope, the user's text alone, or nothing."`
	Timeout      int                 `json:"timeout" jsonschema:"minimum=1,maximum=315360000" jsonschema_description:"Seconds the agent may run before it is killed."`
	Protocol     string              `json:"protocol"`
	PassMedia    bool                `json:"passMedia" jsonschema_description:"Hand the paths of the user's files to the agent."`
	Env          map[string]string   `json:"env" secret:"all" jsonschema_description:"Extra environment variables of the agent."`
	Providers    map[string]Provider `json:"providers" secret:"all" jsonschema_description:"API providers handed to the agent in the envelope, by a name of your choice."`
	Progress     string              `json:"progress" jsonschema:"enum=edit,enum=message,enum=off" jsonschema_description:"How progress is shown: one bubble edited in place, a bubble each, or not at all."`
	RevealErrors Reveal              `json:"revealErrors" jsonschema_description:"Who sees STDERR and exit codes: true, false, or a list of chat ids."`
	MediaRoots   []string            `json:"mediaRoots" jsonschema_description:"Folders the agent may send files from. Default: the workspace, the user's folder and the system temp folder."`
	Cwd          string              `json:"cwd" jsonschema_description:"The agent's working folder when it is not the workspace."`
	Shell        string              `json:"shell" jsonschema:"minLength=1" jsonschema_description:"The shell that runs the command with -c."`
	MaxLine      int                 `json:"maxLine" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Longest line of output in bytes; a longer one is skipped."`
	MaxOutput    int                 `json:"maxOutput" jsonschema:"minimum=1024,maximum=1073741824" jsonschema_description:"Most bytes of plain output kept; the middle of more is left out."`
	ProviderEnv  bool                `json:"providerEnv" jsonschema_description:"Also set the usual key variables, such as ANTHROPIC_API_KEY."`
	Interactive  bool                `json:"interactive" jsonschema_description:"Keep stdin open so that the agent may ask questions."`
	Protocols    Protocols           `json:"-"` // their sections stand beside the keys of Terminal
	Limits       Limits              `json:"limits" jsonschema_description:"What the agent may use."`
	Sandbox      string              `json:"sandbox" jsonschema_description:"How the agent is kept from the rest of the machine: none, landlock (it reads the system's folders and uses its own, the temp folder and sandboxPaths), or a command that its own is appended to."`
	SandboxPaths []string            `json:"sandboxPaths" jsonschema_description:"Files and folders that the agent may also use under landlock; with :ro behind it, only read."`
	// SandboxRequired is about limits too.
	SandboxRequired bool   `json:"sandboxRequired" jsonschema_description:"Do not start if this machine lacks what the limits or the sandbox need, or if the sandbox would show secrets; what holds only in part is said in the log."`
	User            string `json:"user" jsonschema_description:"The user that the agent runs as, when started as root."`
	PassHistory     int    `json:"passHistory" jsonschema:"minimum=0,maximum=10000" jsonschema_description:"How many earlier turns the envelope carries."`
	// Approvers decide about permissions and blocks; questions of the agent are for everybody.
	Approvers  []string             `json:"approvers" jsonschema_description:"Who may answer when the agent needs permission, as channel:userid, such as telegram:123456. Empty: everybody who may talk to the bot."`
	MCPServers map[string]MCPServer `json:"mcpServers" secret:"all" jsonschema_description:"MCP servers that the agent is told to use, by a name of your choice: a command with args and env, or a url with headers."`
}

// On reports whether the agent is to be run: switched on, or not switched off and named.
func (t Terminal) On() bool {
	if t.Enabled != nil {
		return *t.Enabled
	}
	return t.Command != ""
}

// Provider is one API provider handed to the agent.
type Provider struct {
	APIKeys []Secret `json:"apiKeys" jsonschema:"required,minItems=1" jsonschema_description:"One or more keys; the agent rotates them. Also file:/path, env:NAME or cred:NAME."`
	Models  []string `json:"models,omitempty" jsonschema_description:"Models available from this provider."`
	BaseURL string   `json:"baseUrl,omitempty" jsonschema_description:"Base URL of the API when it is not the usual one."`
}

// HTTP configures the one HTTP server.
type HTTP struct {
	Listen        string   `json:"listen" jsonschema_description:"Address to listen on, such as 127.0.0.1:8080. Empty: no server."`
	Hosts         []string `json:"hosts" jsonschema_description:"Names by which browsers may ask for the page, beside localhost, such as bot.example.com."`
	Proxies       []string `json:"proxies" jsonschema_description:"Reverse proxies on other machines that say whom they speak for (X-Forwarded-For), such as 172.18.0.2 or 172.18.0.0/16. Those on this machine need not be named."`
	MetricsListen string   `json:"metricsListen" jsonschema_description:"A second address on this machine, such as 127.0.0.1:9464, that serves /metrics without a token and nothing else. No proxy may stand in front of it."`
	Token         Secret   `json:"token" jsonschema_description:"What scripts prove themselves with to the API, as an operator. Needed for the page on an address that others can reach. Also file:/path, env:NAME or cred:NAME."`
}

// Gateway configures queues, delivery and state.
type Gateway struct {
	MaxConcurrent int    `json:"maxConcurrent" jsonschema:"minimum=1,maximum=100000" jsonschema_description:"Agents that run at the same time."`
	WhileRunning  string `json:"whileRunning" jsonschema:"enum=queue,enum=interrupt,enum=reject,enum=inject" jsonschema_description:"What a message does that arrives during a turn."`
	QueueLimit    int    `json:"queueLimit" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Messages that may wait in one chat."`
	OnCrash       string `json:"onCrash" jsonschema:"enum=report,enum=retry" jsonschema_description:"What happens to a turn that was running when the gateway died."`
	Delivery      string `json:"delivery" jsonschema:"enum=atLeastOnce,enum=atMostOnce" jsonschema_description:"Which way to err when the outcome of a send is unknown."`
	RatePerMinute int    `json:"ratePerMinute" jsonschema:"minimum=0,maximum=1000000" jsonschema_description:"Messages a user may send in a minute; 0: no limit."`
	DrainTimeout  int    `json:"drainTimeout" jsonschema:"minimum=0,maximum=86400" jsonschema_description:"Seconds running turns get to finish at shutdown."`
	StateDir      string `json:"stateDir" jsonschema_description:"Where state is kept, relative to the workspace. Default: $STATE_DIRECTORY, or .nanobot in the workspace."`
}

// Log configures logging.
type Log struct {
	Level  string `json:"level" jsonschema:"enum=debug,enum=info,enum=warn,enum=error" jsonschema_description:"The least level that is logged."`
	Format string `json:"format" jsonschema:"enum=auto,enum=console,enum=json" jsonschema_description:"How a line looks; auto: console on a terminal and JSON elsewhere."`
}

// Default returns the part of Parts.Default that no channel or protocol adds to.
func Default() Config {
	return Config{
		Terminal: Terminal{
			Stdin: "envelope", Timeout: 120, PassMedia: true, Progress: "edit",
			Env: map[string]string{}, Providers: map[string]Provider{}, MediaRoots: []string{},
			Sandbox: "none", SandboxPaths: []string{}, Approvers: []string{}, MCPServers: map[string]MCPServer{},
			RevealErrors: Reveal{All: true}, Shell: "/bin/sh", MaxLine: 16 << 20, MaxOutput: 4 << 20,
		},
		Agents: Agents{},
		HTTP:   HTTP{Hosts: []string{}, Proxies: []string{}},
		Gateway: Gateway{
			MaxConcurrent: 8, WhileRunning: "queue", QueueLimit: 20, OnCrash: "report",
			Delivery: "atLeastOnce", DrainTimeout: 30,
		},
		Log:      Log{Level: "info", Format: "auto"},
		Audit:    Audit{MaxSize: 10, Keep: 5},
		Runbooks: Runbooks{Folder: "runbooks", Approvers: []string{}, AgentShell: "trust"},
	}
}
