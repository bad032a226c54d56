// Building the page without markup in strings, and saying things in few words.

export const $ = (id) => document.getElementById(id);

function make(e, kids) {
	if (kids[0]?.constructor === Object) for (const [k, v] of Object.entries(kids.shift())) {
		if (v == null || v === false) continue;
		if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
		else e.setAttribute(k, v === true ? '' : v);
	}
	e.append(...kids.flat().filter((k) => k != null && k !== false));
	return e;
}

// h makes an element of attributes, if any, and children. Those that are null or false are left out; on… are listeners.
export const h = (tag, ...kids) => make(document.createElement(tag), kids);
export const svg = (tag, ...kids) => make(document.createElementNS('http://www.w3.org/2000/svg', tag), kids);
export const icon = (name) => svg('svg', { 'aria-hidden': 'true' }, svg('use', { href: '#i-' + name }));
export const button = (attrs, click, ...kids) => h('button', { type: 'button', onclick: click, ...attrs }, ...kids);
export const unseen = (text) => h('span', { class: 'unseen' }, text);

// put renders the inside of an element anew, unless what it is made of is the same as before.
export function put(e, of, build) {
	const made = JSON.stringify(of);
	if (e.made === made) return;
	e.made = made;
	e.replaceChildren(...build().filter(Boolean));
}

// fill has a box hold just these elements. Those that are in their place stay, with the focus that they may have.
export function fill(box, list) {
	list.forEach((e, i) => box.children[i] === e || box.insertBefore(e, box.children[i]));
	while (box.childElementCount > list.length) box.lastChild.remove();
}

// say tells those who listen instead of looking.
export function say(text) {
	$('say').textContent = text.slice(0, 400);
}

export function duration(ms) {
	if (ms < 1000) return Math.max(0, Math.round(ms)) + ' ms';
	if (ms < 9950) return (ms / 1000).toFixed(1) + ' s';
	const s = Math.round(ms / 1000);
	if (s < 60) return s + ' s';
	if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
	return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

export const at = (t) => (t ? new Date(t).getTime() : 0);
export const clock = (t) => new Date(t).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });

export function day(t) {
	const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(t).setHours(0, 0, 0, 0)) / 864e5);
	return ['Today', 'Yesterday'][days] || new Date(t).toLocaleDateString([], { weekday: 'short', day: 'numeric', month: 'short' });
}

export const moment = (t) => (day(t) === 'Today' ? '' : day(t) + ', ') + clock(t);

export const bytes = (n) => (n < 1000 ? n + ' B' : n < 1e6 ? Math.round(n / 1000) + ' kB' : (n / 1e6).toFixed(1) + ' MB');
