// What was written and is not yet known to be on the server. It is sent in order within a chat, again and again under the same id until
// the server has it or refuses it; what has no files survives a reload.
import { post, send } from './api.js';

// unnamed tells whether a chat has no id yet: it gets one with its first message.
export const unnamed = (chat) => chat.startsWith('new:');

const random = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('-');

// outbox calls changed(item) when something about an item changed, and named(old, id) when a chat has got its id.
export function outbox(changed, named) {
	let items = [];
	const busy = new Set();

	function become(item, state, why = '') {
		if (item.state === 'gone') return;
		Object.assign(item, { state, why });
		if (state === 'gone') items = items.filter((i) => i !== item);
		const keep = items.filter((i) => !unnamed(i.chat) && !i.files.length && i.state !== 'failed');
		sessionStorage.setItem('outbox', JSON.stringify(keep.map(({ id, chat, text }) => ({ id, chat, text }))));
		changed(item);
	}

	async function name(chat) {
		const { id } = await post('api/chats');
		for (const i of items) if (i.chat === chat) i.chat = id;
		named(chat, id);
		pump(id);
	}

	async function deliver(item) {
		become(item, 'sending');
		const told = (part) => item.files.length && become(item, 'sending', Math.floor(part * 100) + ' %');
		item.message = (await send(item.chat, item, told)).id;
		become(item, 'gone');
	}

	// pump sends what waits in a chat, one after the other.
	async function pump(chat) {
		if (busy.has(chat)) return;
		busy.add(chat);
		for (let item; (item = items.find((i) => i.chat === chat && i.state !== 'failed'));) {
			try {
				await (unnamed(chat) ? name(chat) : deliver(item));
			} catch (e) {
				become(item, e.passing ? 'waiting' : 'failed', e.message);
				if (item.state !== 'waiting') continue;
				setTimeout(pump, 5000, chat);
				break;
			}
		}
		busy.delete(chat);
	}

	function add(chat, text, files, id = random()) {
		const item = { id, chat, text, files };
		items.push(item);
		become(item, 'sending');
		pump(chat);
	}

	for (const i of JSON.parse(sessionStorage.getItem('outbox') || '[]')) add(i.chat, i.text, [], i.id);
	return {
		add,
		of: (chat) => items.filter((i) => i.chat === chat),
		// drop forgets an item: the server has it, or nobody wants it any more.
		drop: (id) => items.filter((i) => i.id === id).forEach((i) => become(i, 'gone')),
		// again tries what waits, and an item that was refused.
		again(item) {
			for (const i of items) if (i === item || i.state === 'waiting') become(i, 'sending');
			for (const i of items) pump(i.chat);
		},
	};
}
