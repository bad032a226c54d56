// What can be chosen in a chat: the commands, in a list above the box, and the agent that answers.
import { $, h, update } from './dom.js';
import { chatPath, get } from './api.js';

// choices calls submit(text) with what is chosen, and onFill() when it has changed the box.
/** @type {MakeChoices} */
export function choices(submit, onFill) {
	const box = $('text'), list = $('commands'), agents = $('agent');
	let chat = '', commands = [], shown = [], at = 0, closed = false, timer;

	async function load() {
		const mine = chat, m = await get(chatPath(mine) + '/menu').catch(() => {}); // the page works without
		if (!m || mine !== chat) return;
		({ commands } = m);
		agents.hidden = m.agents.length < 2;
		update(agents, m.agents, () => m.agents.map((name) => h('option', name)));
		agents.value = m.agent;
		draw();
	}

	const typed = () => box.value.match(/^\/(\S*)$/)?.[1].toLowerCase();

	function draw() {
		const name = closed || document.activeElement !== box ? undefined : typed();
		shown = name === undefined ? [] : commands.filter((c) => c.name.toLowerCase().startsWith(name));
		at = Math.max(0, Math.min(at, shown.length - 1));
		list.hidden = !shown.length;
		update(list, [shown, at], () => shown.map((c, i) => Object.assign(
			h('li', { role: 'option', id: 'command-' + i, 'aria-selected': i === at }, h('b', '/' + c.name), ' ', h('small', c.help)), { onclick: () => choose(c) })));
		box.setAttribute('aria-activedescendant', shown.length ? 'command-' + at : '');
		list.children[at]?.scrollIntoView({ block: 'nearest' });
	}

	function choose(c) {
		box.value = c.args ? `/${c.name} ` : '';
		onFill();
		draw();
		if (!c.args) submit('/' + c.name);
	}

	list.onmousedown = (e) => e.preventDefault(); // the box keeps the focus
	box.onblur = box.onfocus = draw;
	agents.onchange = () => submit('/agent ' + agents.value);
	return {
		open(id) {
			chat = id;
			commands = [];
			agents.hidden = true;
			load();
		},
		// changed reads the menu again a little later.
		changed() {
			clearTimeout(timer);
			timer = setTimeout(load, 500);
		},
		typed() {
			if (box.value === '/') load();
			at = 0;
			closed &&= typed() !== undefined;
			draw();
		},
		// key reports whether a key was for the list.
		key(e) {
			const step = { ArrowDown: 1, ArrowUp: -1 }[e.key], c = shown[at];
			if (!c || e.isComposing || e.shiftKey) return false;
			if (step) at = (at + step + shown.length) % shown.length;
			else if (e.key === 'Escape') closed = true;
			else if (e.key === 'Tab' || e.key === 'Enter' && c.name.toLowerCase() !== typed()) choose(c);
			else return false;
			e.preventDefault();
			e.stopPropagation();
			draw();
			return true;
		},
	};
}
