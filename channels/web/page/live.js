// What goes on in the chats: progress of turns, beginnings of answers, and typing.
import { $, h, update, announce, unseen } from './dom.js';
import { body, buttons } from './message.js';
import { text } from './text.js';

// liveView calls choose(message, button, row) when a button is pressed, asks(chat) for whether a
// question is open there, insert(element) to show a draft, and onDraw() when it has drawn.
/** @type {MakeLive} */
export function liveView(choose, asks, insert, onDraw) {
	let current = '';
	/** @type {Map<string, Progress>} */
	const running = new Map(); // chat and id → progress: of a turn, or of a message that waits
	/** @type {Map<string, Progress>} */
	const drafts = new Map(); // id → the beginning of an answer
	const typing = new Map(); // chat → until when

	const isTyping = (chat) => typing.get(chat) > Date.now();

	const key = (p) => p.chat + ' ' + p.id;
	const progressOf = (chat) => [...running.values()].filter((p) => p.chat === chat);
	const stops = (p) => p.buttons.some((b) => b.role === 'stop');

	// stoppable returns the progress or the beginning of an answer that has the Stop button of a chat's turn.
	const stoppable = (chat) => [...running.values(), ...drafts.values()].find((p) => p.chat === chat && stops(p));

	function draw() {
		const all = progressOf(current), p = all.find(stops) || all.find((x) => !x.buttons.length) || all[0];
		const s = stoppable(current) || p?.buttons.length && p;
		$('live').hidden = !p && !s && !isTyping(current);
		$('live').classList.toggle('asks', asks(current));
		const screen = () => $('now').querySelector('.screen'), x = screen()?.scrollLeft;
		update($('now'), [p?.html], () => [(p && body(p)) || text('working')]);
		if (x && screen()) screen().scrollLeft = x;
		update($('acts'), [s?.id, s?.buttons], () => [s && buttons(s, choose)]);
		const waiting = all.filter((x) => x !== p);
		update($('queue'), waiting.map((x) => [x.id, x.html]), () => waiting.map((x) => h('li.card', body(x), buttons(x, choose))));
		onDraw();
	}

	function drawDraft(p) {
		const e = h('li.theirs', unseen($('bot').textContent + ':'), h('div.card', body(p)));
		if (p.e?.isConnected) p.e.replaceWith(e);
		else if (p.chat === current) insert(e);
		p.e = e;
	}

	setInterval(draw, 1000);
	return {
		draw,
		open(chat) {
			current = chat;
			drafts.forEach(drawDraft);
			draw();
		},
		// clear forgets all, because a new stream sends it again.
		clear() {
			running.clear();
			drafts.forEach((p) => p.e.remove());
			drafts.clear();
			draw();
		},
		isTyping,
		stoppable,
		runs: (chat) => progressOf(chat).length > 0 || !!stoppable(chat),
		busy: () => running.size + drafts.size > 0 || [...typing.keys()].some(isTyping),
		// answered ends typing in a chat.
		answered: (chat) => typing.delete(chat),
		progress(p) {
			if (p.draft) {
				p.e = drafts.get(p.id)?.e;
				drafts.set(p.id, p);
				drawDraft(p);
				return draw();
			}
			const first = !progressOf(p.chat).length;
			p.html = p.html.replace('⏳ ', ''); // the page has a spinner
			running.set(key(p), p);
			if (p.chat !== current) return;
			draw();
			if (first) announce(text('working') + ' ' + (p.text || ''));
		},
		gone(p) {
			drafts.get(p.id)?.e.remove();
			drafts.delete(p.id);
			running.delete(key(p));
			typing.delete(p.chat);
			draw();
		},
		typing(t) {
			typing.set(t.chat, Date.now() + 7000);
			draw();
		},
	};
}
