// The texts of the page, in the language that the server has chosen.
import { $ } from './dom.js';

const texts = JSON.parse($('texts').textContent);

// text returns a text with the values of its placeholders: {name} stands for a value, and
// {name|one|other} for one of two words.
export const text = (key, values) => texts[key].replace(/{(\w+)(?:\|(.*?)\|(.*?))?}/g,
	(_, name, one, other) => (one === undefined ? values[name] : values[name] === 1 ? one : other));
