// The button that changes the theme.
import { $, icon } from './dom.js';
import { text } from './text.js';

const names = () => ({ system: text('pageThemeSystem'), light: text('pageThemeLight'), dark: text('pageThemeDark') });

// themeButton goes from one theme to the next, and remembers the choice in this browser.
export function themeButton() {
	const button = $('theme'), { dataset } = document.documentElement, all = names(), order = Object.keys(all);
	const draw = () => {
		button.ariaLabel = button.title = all[dataset.theme];
		button.replaceChildren(icon(dataset.theme));
	};
	button.onclick = () => {
		dataset.theme = order[(order.indexOf(dataset.theme) + 1) % order.length];
		localStorage.setItem('theme', dataset.theme);
		draw();
	};
	window.onstorage = (e) => {
		if (e.key !== 'theme') return;
		dataset.theme = e.newValue || 'system';
		draw();
	};
	draw();
}
