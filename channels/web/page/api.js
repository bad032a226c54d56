// The HTTP API, and the stream of events that outlives a lost connection.

// Refused is an answer other than wanted, or none (status 0). If passing, a retry may help.
export class Refused extends Error {
	constructor(status, text) {
		let why = status ? 'the server answered ' + status : 'no connection';
		try {
			why = JSON.parse(text).error || why;
		} catch { /* it is no JSON */ }
		super(why.replace(/\.$/, ''));
		this.status = status;
		this.passing = !status || status === 401 || status === 429 || status >= 500;
	}
}

async function call(path, options) {
	let r, text;
	try {
		r = await fetch(path, options);
		text = await r.text();
	} catch {
		throw new Refused(0);
	}
	if (!r.ok) throw new Refused(r.status, text);
	return JSON.parse(text || 'null');
}

export const get = (path) => call(path, { cache: 'no-store' });
export const post = (path, body = {}) => call(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

const within = (chat) => 'api/chats/' + encodeURIComponent(chat);

export const history = (chat, before) => get(within(chat) + '/messages?limit=50' + (before ? '&before=' + before : ''));
export const press = (chat, message, data) => post(within(chat) + '/press', { message, data });

// send posts a message and tells how much of it is on its way, from 0 to 1.
export function send(chat, item, told) {
	const form = new FormData();
	form.append('client_id', item.id);
	form.append('text', new Blob([item.text])); // whose line ends stay as they are
	for (const f of item.files) form.append('file', f, f.name);
	return new Promise((done, fail) => {
		const x = new XMLHttpRequest();
		x.open('POST', within(chat) + '/messages');
		x.upload.onprogress = (e) => told(e.loaded / e.total);
		x.onload = () => (x.status < 300 ? done(JSON.parse(x.responseText)) : fail(new Refused(x.status, x.responseText)));
		x.onerror = x.onabort = () => fail(new Refused(0));
		x.send(form);
	});
}

// stream hands events to the functions of on, and tells state what the server says when connected, else null. It resumes after the last
// event seen. What it returns reconnects.
export function stream(on, busy, state) {
	let last = '', wait = 500, source, timer, idle;
	function shut() {
		clearTimeout(timer);
		source?.close();
		source = null;
	}
	function open() {
		shut();
		source = new EventSource('api/events' + (last ? '?after=' + last : ''));
		source.onerror = () => {
			shut();
			state(null);
			timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
			wait = Math.min(wait * 2, 10000);
		};
		const ready = (r) => {
			wait = 500;
			state(r);
		};
		for (const [name, f] of Object.entries({ ready, ...on })) {
			source.addEventListener(name, (e) => {
				last = e.lastEventId || last;
				f(JSON.parse(e.data));
			});
		}
	}
	// A browser has six connections for all tabs: a hidden one closes its own, unless an answer is awaited.
	function rest() {
		idle = setTimeout(() => (busy() ? rest() : shut()), 30000);
	}
	function look() {
		clearTimeout(idle);
		if (document.hidden) rest();
		else if (!source) open();
	}
	document.addEventListener('visibilitychange', look);
	window.ononline = () => document.hidden || open();
	open();
	look();
	return open;
}
