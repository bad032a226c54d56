# An agent that sends a message by the tools of its chat, speaking MCP by hand; once as a process that has left its session, its parent and its environment.
read -r line
calls='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"send_message","arguments":{"text":"By a tool."}}}'
said=$(printf '%s\n' "$calls" | nanobot mcp 2>&1 | tail -n 1)
orphan=$(setsid sh -c 'printf "%s\n" "$0" | env -i NANOBOT_SOCKET="$NANOBOT_SOCKET" /usr/bin/nanobot mcp 2>&1 | tail -n 1 & exit' "$calls")
said=$(printf '%s' "$said $orphan" | tr '"\\' "''")
printf '{"type":"message","text":"Socket %s: %s"}\n' "$NANOBOT_SOCKET" "$said"
