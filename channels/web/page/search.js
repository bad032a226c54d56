// The search in all chats of the person.
import { $, h, announce, moment } from './dom.js';
import { get } from './api.js';
import { text } from './text.js';

// mark splits a text into nodes, with the words marked.
const mark = (s, words) => s.split(new RegExp('(' + words.map((w) => w.replace(/[^\p{L}\p{N}]/gu, '\\$&')).join('|') + ')', 'i'))
	.map((part, i) => (i % 2 ? h('mark', part) : part));

// searchBox shows what it finds in place of the list of chats. Each result is a link to its message.
/** @type {MakeSearch} */
export function searchBox(onError) {
	let timer, last = '';

	function draw(results, more, words) {
		$('found').replaceChildren(...results.map((r) => h('li', h('a', { href: `#/c/${r.chat}/${r.seq || ''}` },
			h('span.name', r.title || text('pageUntitled')), r.excerpt && h('p', mark(r.excerpt, words)), h('small', moment(r.time))))));
		const summary = more ? text('pageFoundMore') : text('pageFound', { count: results.length });
		$('found').append(h('li', h('small', summary)));
		announce(summary);
	}

	async function search() {
		const query = $('search').value.trim();
		if (query === last) return;
		last = query;
		$('found').hidden = !query;
		$('chats').hidden = !!query;
		if (!query) return $('found').replaceChildren(); // the next search must not begin with these results
		try {
			const { results, more } = await get('api/search?q=' + encodeURIComponent(query));
			if (query === last) draw(results, more, query.split(/\s+/));
		} catch (e) {
			last = '';
			onError(e);
		}
	}

	$('search').oninput = () => {
		clearTimeout(timer);
		timer = setTimeout(search, 250);
	};
	$('search').onkeydown = (e) => {
		if (e.key !== 'Escape' || !$('search').value) return;
		e.stopPropagation(); // it would stop the turn
		$('search').value = '';
		search();
	};
}
