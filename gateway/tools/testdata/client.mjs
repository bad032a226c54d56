// Calls every tool by the MCP client from npm. Arguments: the folder with node_modules, and the socket of the server or the command that
// starts it with its arguments. It prints a line for each call.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, ...server] = process.argv.slice(2);
const require = createRequire(modules + "/");
const load = (name) => import(pathToFileURL(require.resolve("@modelcontextprotocol/sdk/" + name)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ElicitRequestSchema } = await load("types.js");

const client = new Client({ name: "npm", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { confirmation: "approved" } }));
const pipe = 'const s = require("net").connect(process.argv[1]); process.stdin.pipe(s).pipe(process.stdout)';
const [command, ...args] = server.length > 1 ? server : [process.execPath, "-e", pipe, ...server];
await client.connect(new StdioClientTransport({ command, args, env: process.env }));

const call = async (name, args) => {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: args });
  if (content.length !== 1 || JSON.stringify(JSON.parse(content[0].text)) !== JSON.stringify(structuredContent)) throw new Error("the text is not the structured content");
  console.log(JSON.stringify({ name, isError: !!isError, result: structuredContent }));
  return structuredContent;
};
const prove = async (shown, type, field) => {
  const { nonce, proof_hash } = shown.challenge;
  return call("kairos_next", { uri: shown.current_step.uri, solution: { type, nonce, proof_hash, [type]: field } });
};

const tools = (await client.listTools()).tools.map((t) => t.name);
await call("kairos_mint", { markdown_doc: "# Mine\n\n## Only\n", llm_model_id: "npm" });
const { choices } = await call("kairos_search", { query: "ship" });
let shown = await call("kairos_begin", { uri: choices[0].uri });
shown = await prove(shown, "shell", { exit_code: 0 });
shown = await prove(shown, "mcp", { tool_name: "deploy", success: true });
shown = await prove(shown, "user_input", tools.includes("ask_user") ? { confirmation: "yes" } : {});
await prove(shown, "comment", { text: "All of it was done as it should be." });
await call("kairos_attest", { uri: choices[0].uri, outcome: "success", message: "done" });
await call("kairos_dump", { uri: choices[0].uri, protocol: true });
if (tools.includes("ask_user")) {
  await call("send_message", { text: "Hello" });
  await call("send_files", { files: [{ path: "a.png", caption: "A" }] });
  await call("ask_user", { question: "Which?", options: ["a", "b"] });
  await call("progress", { text: "Working" });
  await call("search_history", { query: "hello" });
}
await client.close();
