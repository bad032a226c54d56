// The conversation: the list of chats, the messages, what runs, and the form.
import { $, h, button, icon, update, announce } from './dom.js';
import { press } from './api.js';
import { isQuestion, sending } from './message.js';
import { composer } from './composer.js';
import { chatList } from './list.js';
import { liveView } from './live.js';
import { messageLog } from './log.js';
import { outbox, random } from './outbox.js';
import { searchBox } from './search.js';
import { text } from './text.js';

// chatView calls onOpen(chat) when it shows a chat, and onError(error).
/** @type {MakeChat} */
export function chatView(onOpen, onError) {
	let current = '', user = '';
	/** @type {Map<string, Element>} */
	const unsent = new Map(); // id of an item in the outbox → its element
	const questions = new Map(); // id of a message with an open question → its chat

	const input = composer(submit, () => {
		const e = [...$('log').querySelectorAll('.mine')].at(-1);
		return (e?.message || e?.unsent)?.text || '';
	}, onError);
	// The buttons of the person's last message.
	const lastOwn = () => [...$('log').querySelectorAll('.mine')].findLast((e) => e.message);
	const tool = (name, label, does) => button('icon', () => does(lastOwn().message), { 'aria-label': label }, icon(name));
	const tools = h('span', tool('edit', text('pageEdit'), (m) => input.edit(m)), tool('again', text('buttonRunAgain'), (m) => {
		submit(m.text, [], m.id);
		focus();
	}));
	const asks = (chat) => [...questions.values()].includes(chat);
	const log = messageLog(choose, shown, drawState, gone, onError);
	const live = liveView(choose, asks, log.insert, log.drawWelcome);
	const list = chatList((chat) => ({ busy: live.runs(chat), asks: asks(chat) }), onError);
	const out = outbox(drawUnsent);

	function submit(typed, files, edits) {
		out.add(current, typed, files, edits);
		log.toEnd();
	}

	function drawState() {
		live.draw();
		list.draw();
	}

	/** @param {Item} item */
	function drawUnsent(item) {
		let e = unsent.get(item.id);
		// The element stays until the message comes back from the server.
		if (item.state === 'gone' && (!item.message || log.message(item.message))) return dropUnsent(item.id);
		if (!e && item.chat === current) {
			e = sending(item);
			unsent.set(item.id, e);
			log.insert(e);
		}
		if (!e) return;
		e.unsent = item;
		const stuck = item.state === 'waiting' || item.state === 'failed';
		const words = { waiting: text('pageRetries', { reason: item.why }), failed: text('pageNotSent', { reason: item.why }), gone: text('pageSent') }[item.state] || text('pageSending') + ' ' + item.why;
		e.classList.toggle('stuck', stuck);
		update(e.lastChild, words, () => [words, stuck && button('soft', () => out.retry(item), text('pageTryAgain')), stuck && button('soft', () => out.drop(item.id), text('pageDiscard'))]);
	}

	// drawTools moves the buttons to the last message.
	function drawTools() {
		const e = lastOwn(), m = e?.message, row = m?.user === user && !m.removed && e.querySelector('.tools');
		if (!row) tools.remove();
		else if (tools.parentNode !== row) row.append(tools);
	}

	function dropUnsent(id) {
		unsent.get(id)?.remove();
		unsent.delete(id);
		log.drawWelcome();
	}

	// shown replaces an unsent message by the stored one.
	function shown(m) {
		noteQuestion(m);
		for (const [id, e] of unsent) if (id === m.client_id || e.unsent.message === m.id) dropUnsent(id);
		out.drop(m.client_id);
		if (m.from === 'user') drawTools();
	}

	/** @type {Choose} */
	async function choose(m, { data, stays }, row) {
		for (const b of row.children) b.disabled = !stays;
		focus();
		try {
			await press(m.chat, m.id, data);
		} catch (e) {
			onError(e);
			for (const b of row.children) b.disabled = false;
		}
	}

	// gone removes a deleted chat. A browser that shows it says so.
	function gone(chat) {
		for (const [id, of] of questions) if (of === chat) questions.delete(id);
		out.of(chat).forEach((i) => out.drop(i.id));
		sessionStorage.removeItem('draft:' + chat);
		live.answered(chat);
		list.drop(chat);
		if (chat !== current) return;
		current = '';
		unsent.clear();
		$('deleted').hidden = false;
		$('cancel').click(); // a voice note
		$('composer').hidden = true;
		log.open('');
		live.open('');
		list.open('');
		announce(text('pageChatDeleted'));
	}

	// stop ends the turn that runs in this chat.
	function stop() {
		const p = live.stoppable(current), b = p?.buttons.find((x) => x.role === 'stop');
		if (b) press(current, p.id, b.data).catch(onError);
		else if (live.isTyping(current)) out.add(current, '/stop', []);
		else return;
		announce(text('pageStopping'));
	}

	// focus puts the cursor into the box, unless that would open a keyboard on the screen.
	const focus = () => matchMedia('(pointer: coarse)').matches || input.focus();

	// close ends a question.
	function close(p, how) {
		questions.delete(p.id);
		log.close(p.id, how);
		drawState();
	}

	// noteQuestion notes whether a message is an open question.
	const noteQuestion = (m) => (isQuestion(m) ? questions.set(m.id, m.chat) : questions.delete(m.id));

	// say reads a message of the bot to people who do not see it.
	const say = (m) => announce([m.text || text('pageFiles'), ...(m.buttons || []).map((b) => b.label), isQuestion(m) && text('pageAwaitsAnswer')].filter(Boolean).join(', '));

	$('latest').onclick = () => {
		log.toEnd();
		input.focus();
	};

	searchBox(onError);

	// open shows a chat: the one with an id, a new one, or the newest. With a number it shows that
	// message.
	async function open(id, wantsNew, seq) {
		if (!wantsNew) id ||= current || out.chat();
		if (!id && !wantsNew) {
			if (!(await list.load())) return setTimeout(open, 5000);
			id = current || list.newest();
		}
		id ||= 'web-' + random(); // exists once it has a message
		onOpen(id);
		if (id !== current) {
			current = id;
			unsent.clear();
			input.open(id);
			$('deleted').hidden = true;
			$('composer').hidden = false;
			log.open(id, seq);
			out.claim(id);
			out.of(id).forEach(drawUnsent);
			live.open(id);
			if (!seq) log.toEnd();
		} else if (seq) {
			log.find(seq);
		}
		list.open(id);
	}

	return {
		open,
		// connected is called when the stream starts. All transient messages are sent again.
		connected(up) {
			({ user } = up);
			if (up.missed) log.missed();
			live.clear();
			list.load();
			if (current) log.load();
			drawTools();
			out.retry();
		},
		focus,
		stop,
		busy: live.busy,
		on: {
			message(m) {
				const here = m.chat === current;
				if (m.from === 'bot') live.answered(m.chat);
				noteQuestion(m);
				if (here) log.show(m);
				else out.drop(m.client_id);
				if (here && m.from === 'bot') {
					say(m);
					input.menuChanged();
				}
				live.draw();
				list.add(m);
			},
			edited(m) {
				if (m.chat === current) log.show(m);
				list.load(); // the text may be the title of its chat
			},
			progress(p) {
				live.progress(p);
				list.draw();
			},
			gone(p) {
				live.gone(p);
				list.draw();
			},
			typing: live.typing,
			pressed(p) {
				if (!log.message(p.id)?.buttons?.some((b) => b.stays && b.data === p.data)) close(p, { pressed: p.data });
			},
			removed(p) {
				const m = log.message(p.id);
				if (m) log.show({ ...m, text: '', html: '', removed: true });
				list.load(); // the secret may be the title of its chat
			},
			chat: list.changed,
			deleted: (d) => gone(d.chat),
			closed: (p) => close(p, { outcome: p.outcome }),
		},
	};
}
