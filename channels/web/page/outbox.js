// Unsent messages. They are sent in order within a chat, each with the same id until the server
// stores or refuses it. Those without files survive a reload.
import { persist } from './dom.js';
import { send } from './api.js';

export const random = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('-');

// outbox calls changed(item) when an item has changed.
/** @type {MakeOutbox} */
export function outbox(changed) {
	let items = [];
	const busy = new Set();

	function setState(item, state, why = '') {
		if (item.state === 'gone') return;
		Object.assign(item, { state, why });
		if (state === 'gone') items = items.filter((i) => i !== item);
		persist('outbox', JSON.stringify(items.filter((i) => !i.files.length).map(({ id, chat, text, edits }) => ({ id, chat, text, edits }))));
		changed(item);
	}

	async function deliver(item) {
		if (item.state !== 'waiting') setState(item, 'sending'); // the buttons of one that waits stay, with the focus
		const onProgress = (part) => item.files.length && setState(item, 'sending', Math.floor(part * 100) + ' %');
		item.message = (await send(item.chat, item, onProgress)).id;
		setState(item, 'gone');
	}

	// sendQueue sends the items of a chat one after the other.
	async function sendQueue(chat) {
		if (!chat || busy.has(chat)) return;
		busy.add(chat);
		for (let item; (item = items.find((i) => i.chat === chat && i.state !== 'failed'));) {
			try {
				await deliver(item);
			} catch (e) {
				setState(item, e.retryable ? 'waiting' : 'failed', e.message);
				if (item.state !== 'waiting') continue;
				setTimeout(sendQueue, 5000, chat);
				break;
			}
		}
		busy.delete(chat);
	}

	function add(chat, text, files, edits, id = random()) {
		const item = { id, chat, text, files, edits };
		items.push(item);
		setState(item, 'sending');
		sendQueue(chat);
	}

	for (const i of JSON.parse(sessionStorage.getItem('outbox') || '[]')) add(i.chat, i.text, [], i.edits, i.id);
	window.onbeforeunload = (e) => void (items.some((i) => i.files.length) && e.preventDefault());
	return {
		add,
		of: (chat) => items.filter((i) => i.chat === chat),
		// chat is the chat of the first item.
		chat: () => items[0]?.chat,
		// claim moves items from before the chat was known to it.
		claim(chat) {
			for (const i of items) i.chat ||= chat;
			sendQueue(chat);
		},
		drop: (id) => items.filter((i) => i.id === id).forEach((i) => setState(i, 'gone')),
		// retry sends waiting items, and a failed one, again.
		retry(item) {
			for (const i of items) if (i === item || i.state === 'waiting') setState(i, 'sending');
			for (const i of items) sendQueue(i.chat);
		},
	};
}
