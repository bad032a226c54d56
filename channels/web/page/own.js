// The buttons of the person's last message.
import { $, button, h, icon } from './dom.js';
import { text } from './text.js';

// ownTools calls edit(message) and rerun(message). It returns a function that moves the buttons to
// the last message.
/** @type {MakeOwn} */
export function ownTools(edit, rerun) {
	const last = () => [...$('log').querySelectorAll('.mine')].findLast((e) => e.message);
	const tool = (name, label, does) => button('icon', () => does(last().message), { 'aria-label': label }, icon(name));
	const tools = h('span', tool('edit', text('pageEdit'), edit), tool('again', text('buttonRunAgain'), rerun));
	return () => {
		const e = last(), row = !e?.message.removed && e?.querySelector('.tools');
		if (!row) tools.remove();
		else if (tools.parentNode !== row) row.append(tools);
	};
}
