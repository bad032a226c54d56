// The search of the manual. It needs no server: search-index.js calls searchIn with all sections.
"use strict";
const form = document.querySelector("form"), field = form.querySelector("input");
const results = document.getElementById("results"), list = results.querySelector("ol"), status = results.querySelector("p");
const atWord = "(?<![\\p{L}\\p{N}])"; // every word that is typed may be the beginning of a word
let sections;

function searchIn(all) {
  sections = all;
  show();
}

function load() {
  if (sections) return;
  sections = [];
  document.head.append(Object.assign(document.createElement("script"), { src: "search-index.js" }));
}

// score returns 0 if a word is missing. Headings count most, then what tables explain, then text.
function score(section, words) {
  let sum = 0, own = false;
  for (const word of words) {
    const inText = Math.min((section.text.match(word) || []).length, 5), inHeading = section.heading.search(word) >= 0;
    const points = inText + (inHeading ? 20 : 0) + (section.terms.search(word) >= 0 ? 10 : 0) + (section.title.search(word) >= 0 ? 5 : 0);
    if (!points) return 0;
    own ||= inText > 0 || inHeading;
    sum += points;
  }
  return own ? sum : 0;
}

// marked returns text around the first match, with all matches marked.
function marked(text, any) {
  const start = Math.max(0, text.search(any) - 50);
  const parts = text.slice(start && text.indexOf(" ", start) + 1, start + 200).split(any);
  return parts.map((part, i) => i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
}

function show() {
  const typed = field.value.toLowerCase().match(/[\p{L}\p{N}][^\s]*/gu) || [];
  const escaped = typed.map((word) => atWord + word.replace(/[^\p{L}\p{N}]/gu, "\\$&"));
  const words = escaped.map((word) => new RegExp(word, "giu")), any = new RegExp("((?:" + escaped.join("|") + ")[\\p{L}\\p{N}]*)", "iu");
  const found = typed.length ? sections.map((section) => ({ section, points: score(section, words) })).filter((f) => f.points) : [];
  found.sort((a, b) => b.points - a.points);
  status.textContent = found.length ? found.length + (found.length === 1 ? " section" : " sections") : "Nothing found. Try fewer or shorter words.";
  list.replaceChildren(...found.slice(0, 20).map(({ section }) => {
    const link = document.createElement("a"), where = document.createElement("b"), text = document.createElement("span");
    const match = any.exec(section.text);
    link.href = section.page + "#" + section.anchor + (match ? ":~:text=" + encodeURIComponent(match[0]) : "");
    where.textContent = section.title === section.heading ? section.title : section.title + " › " + section.heading;
    text.append(...marked(section.text, any));
    link.append(where, text);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  results.hidden = !typed.length;
}

form.hidden = false;
field.addEventListener("focus", load);
field.addEventListener("input", show);
form.addEventListener("submit", (e) => (e.preventDefault(), list.querySelector("a")?.click()));
document.addEventListener("click", (e) => { if (!form.contains(e.target)) results.hidden = true; });
document.addEventListener("keydown", (e) => {
  const links = [field, ...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
  if (e.key === "/" && at && !e.ctrlKey && !e.metaKey) field.focus();
  else if (e.key === "Escape" && !results.hidden) { field.focus(); results.hidden = true; }
  else if (step && at >= 0 && !results.hidden) links[Math.max(0, Math.min(at + step, links.length - 1))].focus();
  else return;
  e.preventDefault();
});
for (const nav of document.querySelectorAll("nav")) nav.addEventListener("click", (e) => { if (e.target.closest("a") && nav.matches(":popover-open")) nav.hidePopover(); });
const current = document.querySelector("#menu [aria-current]");
if (current) current.closest("nav").scrollTop = current.offsetTop - 200;
