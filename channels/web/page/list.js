// The list of chats.
import { $, h, button, icon, setChildren, update, unseen, at, moment } from './dom.js';
import { change, chatPath, get, remove } from './api.js';
import { ask } from './dialog.js';
import { text } from './text.js';

// chatList calls state(chat) for what goes on in a chat: { busy, asks }.
/** @type {MakeList} */
export function chatList(state, onError) {
	let current = '', opened = '', chats = [], loading = null, begun = '';
	const unread = new Set();
	const links = new Map(); // chat → its entry

	const has = (chat) => chats.find((c) => c.id === chat);

	function load() {
		loading ??= get('api/chats').then((c) => (chats = c), (e) => void onError(e)).finally(() => {
			loading = null;
			draw();
			// The answer may be older than a chat that began while it was on its way.
			if (begun && !has(begun)) load();
			begun = '';
		});
		return loading;
	}

	// rename, pin and drop change a chat. The event of it changes the list in all browsers.
	async function rename(c) {
		const title = await ask(text('pageRenameChat'), text('pageRename'), c.title);
		if (title !== false) change(chatPath(c.id), { title }).then(changed, onError);
	}

	const pin = (c) => change(chatPath(c.id), { pinned: !c.pinned }).then((now) => {
		changed(now);
		if (document.activeElement === document.body) links.get(c.id)?.children[1].focus(); // the entry has moved
	}, onError);

	async function drop(c) {
		if (await ask(text('pageDeleteChat', { title: c.title || text('pageUntitled') }), text('pageDelete'))) remove(chatPath(c.id)).catch(onError);
	}

	// toggle shows or hides the actions of a chat, which closes those of others.
	function toggle(id) {
		opened = opened === id ? '' : id;
		draw();
		links.get(id)?.querySelector(opened ? '.options > *' : 'button').focus();
	}

	function options(c) {
		const act = (classes, name, does) => button(classes, () => {
			toggle(c.id);
			does(c);
		}, name);
		return h('div.options', act('', text('pageRename'), rename), act('', c.pinned ? text('pageUnpin') : text('pagePin'), pin),
			h('a', { href: chatPath(c.id) + '/export', download: '' }, text('pageExport')), act('bad', text('pageDelete'), drop));
	}

	function newEntry(id) {
		const e = h('li', h('a', { href: '#/c/' + id }), button('icon', () => toggle(id), icon('more')), h('div'));
		e.onkeydown = (k) => {
			if (k.key !== 'Escape' || opened !== id) return;
			k.stopPropagation();
			toggle(id);
		};
		return e;
	}

	function entry(c) {
		if (!links.has(c.id)) links.set(c.id, newEntry(c.id));
		const [a, more, acts] = links.get(c.id).children;
		more.ariaLabel = text('pageActions', { title: c.title || text('pageUntitled') });
		more.ariaExpanded = c.open;
		update(acts, c.open && [c.title, c.pinned], () => [c.open && options(c)]);
		a.ariaCurrent = c.here ? 'page' : null;
		update(a, c, () => [h('span.name', c.title || text('pageUntitled')), c.pinned && h('span.pin', icon('pin'), unseen(text('pagePinned'))), c.busy && !c.asks && h('span.spinner', unseen(text('working'))),
			c.news && h('span.dot', unseen(text('pageNewMessages'))), h('small', c.asks && h('b.waiting', text('pageAsksYou') + ' · '), moment(c.updated))]);
		return a.parentNode;
	}

	function draw() {
		if (!document.hidden && !$('chat').hidden) unread.delete(current);
		chats.sort((a, b) => +!!b.pinned - +!!a.pinned || at(b.updated) - at(a.updated));
		setChildren($('chats'), chats.map((c) => entry({ ...c, ...state(c.id), here: c.id === current, open: c.id === opened, news: unread.has(c.id) })));
		$('title').textContent = current ? has(current)?.title || text('pageNewChat') : text('pageChat');
		document.title = (unread.size ? `(${unread.size}) ` : '') + $('bot').textContent;
	}

	// changed is called when a chat was renamed or pinned.
	function changed({ title, pinned, ...of }) {
		const c = has(of.chat || of.id);
		if (!c) return;
		Object.assign(c, { title, pinned });
		draw();
	}

	document.addEventListener('visibilitychange', draw);
	return {
		load,
		draw,
		open(chat) {
			current = chat;
			draw();
		},
		// newest is the chat with the newest message.
		newest: () => chats.reduce((a, b) => (at(b.updated) > at(a?.updated) ? b : a), chats[0])?.id,
		changed,
		// drop removes a deleted chat.
		drop(chat) {
			const focused = links.get(chat)?.contains(document.activeElement);
			chats = chats.filter((c) => c.id !== chat);
			unread.delete(chat);
			links.delete(chat);
			draw();
			if (focused) $('new').focus();
		},
		// add notes a new message.
		add(m) {
			const c = has(m.chat);
			if (m.from === 'bot') unread.add(m.chat);
			if (c) c.updated = m.time;
			else {
				begun = loading ? m.chat : '';
				load();
			}
			draw();
		},
	};
}
