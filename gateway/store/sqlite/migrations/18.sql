-- The sessions that chats have had with agents, as memories of the gateway: nobody else may choose from them.
INSERT OR IGNORE INTO memory (chat, key, value)
SELECT ':', 'session:' || json_extract(past.value, '$.session'), '1'
FROM memory, json_each(CASE WHEN json_valid(memory.value) THEN memory.value ELSE '[]' END) AS past
WHERE substr(memory.key, 1, 13) = 'lasting:agent' AND past.type = 'object' AND json_extract(past.value, '$.session') <> '';
