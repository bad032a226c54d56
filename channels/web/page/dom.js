// DOM helpers that take no markup, and formats of times and sizes.

export const $ = (id) => document.getElementById(id);

function make(e, kids) {
	if (kids[0]?.constructor === Object) for (const [k, v] of Object.entries(kids.shift())) v != null && e.setAttribute(k, v);
	e.append(...kids.flat().filter((k) => k != null && k !== false));
	return e;
}

// h creates an element from tag.classes, optional attributes and children; null and false are
// skipped.
export function h(tag, ...kids) {
	const [name, classes] = tag.split('.'), e = make(document.createElement(name), kids);
	if (classes) e.className = classes;
	return e;
}
export const svg = (tag, ...kids) => make(document.createElementNS('http://www.w3.org/2000/svg', tag), kids);
export const icon = (name) => svg('svg', { 'aria-hidden': 'true' }, svg('use', { href: '#i-' + name }));
export const button = (classes, click, ...kids) => Object.assign(h('button.' + classes, ...kids), { type: 'button', onclick: click });
export const unseen = (text) => h('span.unseen', text);

// update renders the content of an element again if its data has changed.
export function update(e, of, build) {
	const made = JSON.stringify(of);
	if (e.made === made) return;
	e.made = made;
	e.replaceChildren(...build().filter(Boolean));
}

// setChildren moves only the elements that are out of place, so that others keep the focus.
export function setChildren(box, list) {
	list.forEach((e, i) => box.children[i] === e || box.insertBefore(e, box.children[i]));
	while (box.childElementCount > list.length) box.lastChild.remove();
}

// persist stores a text that must survive a reload.
export function persist(name, text) {
	try {
		sessionStorage.setItem(name, text);
	} catch { /* it is full */ }
}

// announce is for screen readers.
export function announce(text) {
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
