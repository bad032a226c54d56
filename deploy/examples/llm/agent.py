#!/usr/bin/env python3
"""Answers with a model behind an OpenAI-compatible URL, word by word, and remembers each chat until /new."""
import http.client, json, os, sys, urllib.error, urllib.request
from pathlib import Path

envelope = json.loads(sys.stdin.readline())
provider = next(iter(envelope.get("providers", {}).values()), {})  # of the config, or else the environment
url = provider.get("base_url") or os.environ.get("OPENAI_BASE_URL", "http://127.0.0.1:11434/v1")  # Ollama
model = (provider.get("models") or [os.environ.get("MODEL", "llama3.2")])[0]
key = (provider.get("api_keys") or [os.environ.get("OPENAI_API_KEY", "none")])[0]
memory = Path(envelope["user_data_dir"], f"conversation{envelope.get('conversation_id', '')}.json")
conversation = json.loads(memory.read_text())[-20:] if memory.exists() else []  # ten questions and answers
conversation.append({"role": "user", "content": envelope["text"]})
body = json.dumps({"model": model, "messages": conversation, "stream": True}).encode()
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + key}
answer, ended, problem = "", False, "The connection ended before the model's answer was complete."
try:
    with urllib.request.urlopen(urllib.request.Request(url + "/chat/completions", body, headers), timeout=120) as response:
        for line in response:  # data: {"choices": [{"delta": {"content": "Hel"}, "finish_reason": null}]}
            for choice in json.loads(line[5:]).get("choices", []) if line.startswith(b"data:") and b"{" in line else []:
                piece = (choice.get("delta") or {}).get("content") or ""
                print(json.dumps({"type": "delta", "text": piece}), flush=True)
                answer, ended = answer + piece, ended or choice.get("finish_reason") is not None
except urllib.error.HTTPError as e:
    known = {401: "it does not accept the key", 404: "it does not know the model", 429: "it is busy, or the quota is used up; try again later"}
    problem = f"The model's server answered {e.code}: " + known.get(e.code, e.reason)
except urllib.error.URLError as e:
    problem = f"There is no model at {url} ({e.reason}). Start one, or set OPENAI_BASE_URL."
except (OSError, ValueError, http.client.HTTPException):
    pass  # the connection ended early
if not ended:
    sys.exit(print(json.dumps({"type": "error", "text": problem, "code": "MODEL"})))
conversation.append({"role": "assistant", "content": answer})
memory.with_suffix(".new").write_text(json.dumps(conversation))
memory.with_suffix(".new").replace(memory)  # so that the memory is never half written
