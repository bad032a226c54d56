// Messages that the server may not have. They are sent in order within a chat, under one id until the server takes or refuses them; those
// without files survive a reload.
import { keep } from './dom.js';
import { send } from './api.js';

export const random = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('-');

// outbox calls changed(item) when something about an item changed.
export function outbox(changed) {
	let items = [];
	const busy = new Set();

	function become(item, state, why = '') {
		if (item.state === 'gone') return;
		Object.assign(item, { state, why });
		if (state === 'gone') items = items.filter((i) => i !== item);
		keep('outbox', JSON.stringify(items.filter((i) => !i.files.length).map(({ id, chat, text }) => ({ id, chat, text }))));
		changed(item);
	}

	async function deliver(item) {
		become(item, 'sending');
		const told = (part) => item.files.length && become(item, 'sending', Math.floor(part * 100) + ' %');
		item.message = (await send(item.chat, item, told)).id;
		become(item, 'gone');
	}

	// pump sends what waits in a chat, one after the other.
	async function pump(chat) {
		if (!chat || busy.has(chat)) return;
		busy.add(chat);
		for (let item; (item = items.find((i) => i.chat === chat && i.state !== 'failed'));) {
			try {
				await deliver(item);
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
	window.onbeforeunload = (e) => void (items.some((i) => i.files.length) && e.preventDefault());
	return {
		add,
		of: (chat) => items.filter((i) => i.chat === chat),
		// chat is where the first of what waits belongs.
		chat: () => items[0]?.chat,
		// claim gives to a chat what was written before there was one.
		claim(chat) {
			for (const i of items) i.chat ||= chat;
			pump(chat);
		},
		// drop forgets an item.
		drop: (id) => items.filter((i) => i.id === id).forEach((i) => become(i, 'gone')),
		// again tries what waits, and an item that was refused.
		again(item) {
			for (const i of items) if (i === item || i.state === 'waiting') become(i, 'sending');
			for (const i of items) pump(i.chat);
		},
	};
}
