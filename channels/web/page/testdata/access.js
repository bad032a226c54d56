// What is wrong with the page for people who do not see, do not see well, or do not use a mouse: a
// list of sentences.
(() => {
	const wrong = [];
	const all = (q, root = document) => [...root.querySelectorAll(q)];
	const where = (e) => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + (e.className && e.className.split ? '.' + e.className.trim().split(/\s+/).join('.') : '') + ' "' + (e.innerText || '').trim().slice(0, 30) + '"';
	const modal = document.querySelector('dialog:modal');
	const scope = modal || document.body;
	const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && (!modal || modal.contains(e));
	const hiddenFromSight = (e) => e.closest('.unseen');

	// The document.
	if (!document.documentElement.lang) wrong.push('the document has no language');
	if (!document.title.trim()) wrong.push('the document has no title');
	if (/user-scalable\s*=\s*no|maximum-scale/.test(document.querySelector('meta[name=viewport]').content)) wrong.push('the page cannot be zoomed');
	if (!document.querySelector('[aria-live=polite], [role=log]')) wrong.push('nothing announces news');
	if (document.scrollingElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.scrollingElement.scrollWidth} px wide in a window of ${innerWidth}`);

	if (document.scrollingElement.scrollHeight > innerHeight) wrong.push(`the page itself scrolls: it is ${document.scrollingElement.scrollHeight} px high in a window of ${innerHeight}`);

	// Ids and what refers to them.
	const ids = new Map();
	for (const e of all('[id]')) ids.set(e.id, (ids.get(e.id) || 0) + 1);
	for (const [id, n] of ids) if (n > 1) wrong.push(`the id ${id} is there ${n} times`);
	for (const a of ['aria-labelledby', 'aria-describedby', 'aria-controls']) {
		for (const e of all(`[${a}]`)) for (const id of e.getAttribute(a).split(/\s+/)) if (!ids.has(id)) wrong.push(`${where(e)}: ${a} refers to ${id}, which is not there`);
	}

	// Landmarks and headings.
	if (!modal) {
		if (all('main').filter(shown).length !== 1) wrong.push('there is not one main');
		if (all('body > header').filter(shown).length !== 1) wrong.push('there is no banner');
		for (const e of all('nav, aside, section').filter(shown)) if (!e.ariaLabel && !e.getAttribute('aria-labelledby')) wrong.push(`${where(e)}: a landmark without a name`);
		for (const e of all('body *').filter((x) => shown(x) && [...x.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))) {
			if (!e.closest('main, header, nav, aside, dialog, #skip, [aria-live]')) wrong.push(`${where(e)}: outside of every landmark`);
		}
		const levels = all('h1, h2, h3, h4, h5, h6').filter(shown);
		if (levels.filter((e) => e.tagName === 'H1').length !== 1) wrong.push('there is not one h1');
		levels.reduce((last, e) => {
			const level = Number(e.tagName[1]);
			if (level > last + 1) wrong.push(`${where(e)}: a heading of level ${level} follows one of level ${last}`);
			return level;
		}, 0);
	}

	// Parts.
	for (const e of all('img', scope)) if (!e.hasAttribute('alt')) wrong.push(`${where(e)}: a picture without alt`);
	for (const e of all('svg', scope).filter(shown)) if (e.ariaHidden !== 'true' && !(e.role === 'img' && e.ariaLabel)) wrong.push(`${where(e)}: a drawing without a name`);
	for (const e of all('li', scope)) if (!['UL', 'OL'].includes(e.parentElement.tagName)) wrong.push(`${where(e)}: a list item outside of a list`);
	for (const e of all('dt, dd', scope)) if (!e.closest('dl')) wrong.push(`${where(e)}: outside of a dl`);
	for (const e of all('table', scope).filter(shown)) if (!all('th', e).length) wrong.push(`${where(e)}: a table without headings`);
	for (const e of all('[aria-hidden=true]')) if (all('a[href], button, input, [tabindex]', e).length) wrong.push(`${where(e)}: hidden, but with controls`);
	for (const e of all('[tabindex]')) if (Number(e.getAttribute('tabindex')) > 0) wrong.push(`${where(e)}: breaks the order of focus`);
	const controls = all('a[href], button:not(:disabled), select, textarea, input', scope).filter(shown);
	for (const e of controls) {
		const r = e.getBoundingClientRect();
		const inline = e.tagName === 'A' && getComputedStyle(e).display === 'inline';
		if (!inline && (r.width < 24 || r.height < 24) && e.type !== 'checkbox') wrong.push(`${where(e)}: a target of ${Math.round(r.width)}×${Math.round(r.height)} px`);
	}
	for (const e of all('*', scope).filter(shown)) {
		const s = getComputedStyle(e);
		const scrolls = (/auto|scroll/.test(s.overflowX) && e.scrollWidth > e.clientWidth + 1) || (/auto|scroll/.test(s.overflowY) && e.scrollHeight > e.clientHeight + 1);
		if (scrolls && e !== document.scrollingElement && e.tagName !== 'TEXTAREA' && e.tabIndex < 0 && !controls.some((c) => e.contains(c))) wrong.push(`${where(e)}: scrolls, but not by keyboard`);
		if (s.animationName !== 'none' && matchMedia('(prefers-reduced-motion: reduce)').matches) wrong.push(`${where(e)}: moves although that is not wanted`);
	}

	// Contrast, of what the browser has computed.
	const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
	const parsed = {};
	const parse = (css) => (parsed[css] ||= draw(css)).slice();
	const draw = (css) => {
		canvas.clearRect(0, 0, 1, 1);
		canvas.fillStyle = css;
		canvas.fillRect(0, 0, 1, 1);
		const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
		return [r, g, b, a / 255];
	};
	const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
	const ground = (e) => {
		const layers = [];
		for (let x = e; x; x = x.parentElement) {
			const c = parse(getComputedStyle(x).backgroundColor);
			layers.push(c);
			if (c[3] === 1) break;
		}
		return layers.reverse().reduce((below, c) => over(c, below), parse(matchMedia('(prefers-color-scheme: dark)').matches ? '#000' : '#fff'));
	};
	const luminance = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => {
		const v = c[i] / 255;
		return sum + w * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
	}, 0);
	const contrast = (a, b) => {
		const [x, y] = [luminance(a), luminance(b)].sort((m, n) => n - m);
		return (x + 0.05) / (y + 0.05);
	};
	const look = (e, css, least, what) => {
		const below = ground(e);
		let front = parse(css);
		for (let x = e; x; x = x.parentElement) front[3] *= Number(getComputedStyle(x).opacity);
		const c = contrast(over(front, below), below);
		if (c < least) wrong.push(`${where(e)}: ${what} has a contrast of ${c.toFixed(2)}, less than ${least}`);
	};
	for (const e of all('*', scope).filter((x) => shown(x) && !hiddenFromSight(x) && !x.closest(':disabled'))) {
		const s = getComputedStyle(e);
		const size = parseFloat(s.fontSize);
		const least = size >= 24 || (size >= 18.66 && Number(s.fontWeight) >= 700) ? 3 : 4.5;
		if ([...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) look(e, e instanceof SVGElement ? s.fill : s.color, least, 'text');
		if (e.placeholder && !e.value) look(e, getComputedStyle(e, '::placeholder').color, 4.5, 'a placeholder');
		if (e.tagName === 'svg' && e.querySelector('use')) look(e, s.stroke, 3, 'an icon');
		if (e.matches('.plot circle, .plot rect')) look(e, s.fill, 1.9, 'a mark');
		if (e.matches('.plot path')) look(e, s.stroke, 3, 'a mark');
	}
	return wrong;
})()
