package acptest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is the shape of every message of wire version 1.
//
//go:embed schema.json
var schema []byte

// requestShapes are the schema names of the client's requests and notifications by method.
var requestShapes = map[string]string{
	"initialize": "InitializeRequest", "authenticate": "AuthenticateRequest", "session/new": "NewSessionRequest",
	"session/load": "LoadSessionRequest", "session/resume": "ResumeSessionRequest", "session/list": "ListSessionsRequest",
	"session/close": "CloseSessionRequest", "session/delete": "DeleteSessionRequest", "logout": "LogoutRequest", "session/set_mode": "SetSessionModeRequest",
	"session/set_config_option": "SetSessionConfigOptionRequest", "session/prompt": "PromptRequest",
	"session/cancel": "CancelNotification", "$/cancel_request": "CancelRequestNotification",
}

// responseShapes are the schema names of the client's responses by method.
var responseShapes = map[string]string{
	"fs/read_text_file": "ReadTextFileResponse", "fs/write_text_file": "WriteTextFileResponse",
	"elicitation/create":         "CreateElicitationResponse",
	"session/request_permission": "RequestPermissionResponse", "terminal/create": "CreateTerminalResponse",
	"terminal/output": "TerminalOutputResponse", "terminal/release": "ReleaseTerminalResponse",
	"terminal/wait_for_exit": "WaitForTerminalExitResponse", "terminal/kill": "KillTerminalResponse",
}

// agentShapes are the schema names of this agent's messages, which are checked as well.
var agentShapes = map[string]string{
	"initialize": "InitializeResponse", "authenticate": "AuthenticateResponse", "session/new": "NewSessionResponse",
	"session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse", "session/list": "ListSessionsResponse",
	"session/close": "CloseSessionResponse", "session/delete": "DeleteSessionResponse", "logout": "LogoutResponse", "session/set_mode": "SetSessionModeResponse",
	"session/set_config_option": "SetSessionConfigOptionResponse", "session/prompt": "PromptResponse",
}

var compiler = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	return c, c.AddResource("acp.json", doc)
})

var compiling sync.Mutex

// Check validates a value against the schema of this name.
func Check(name string, value json.RawMessage) error {
	compiling.Lock()
	defer compiling.Unlock()
	c, err := compiler()
	if err != nil {
		return err
	}
	shape, err := c.Compile("acp.json#/$defs/" + name)
	if err != nil {
		return fmt.Errorf("compile %s: %w", name, err)
	}
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := shape.Validate(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
