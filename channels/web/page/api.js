// The HTTP API, and the stream of events that outlives a lost connection.

// Refused is an answer other than wanted, or none (status 0). What is passing may go well the next time.
export class Refused extends Error {
	constructor(status, text) {
		let why = status ? 'the server answered ' + status : 'no connection';
		try {
			why = JSON.parse(text).error || why;
		} catch { /* it is no JSON */ }
		super(why);
		this.status = status;
		this.passing = !status || status === 429 || status >= 500;
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
	form.append('text', item.text);
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

// stream hands events to the functions of on, and calls state with true when it is connected and false when not. It goes on behind the
// last event that it saw.
export function stream(on, state) {
	let last = '', wait = 500, source, timer;
	function open() {
		clearTimeout(timer);
		source?.close();
		source = new EventSource('api/events' + (last ? '?after=' + last : ''));
		source.onopen = () => {
			wait = 500;
			state(true);
		};
		source.onerror = () => {
			source.close();
			state(false);
			clearTimeout(timer);
			timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
			wait = Math.min(wait * 2, 10000);
		};
		for (const [name, f] of Object.entries(on)) {
			source.addEventListener(name, (e) => {
				last = e.lastEventId || last;
				f(JSON.parse(e.data));
			});
		}
	}
	addEventListener('online', open);
	open();
}
