// The search of the manual. It needs no server: search-index.js calls searchIn with all sections.
"use strict";
const form = document.querySelector("form"), field = form.querySelector("input");
const results = document.getElementById("results"), list = results.querySelector("ol"), status = results.querySelector("p");
const atWord = "(?<![\\p{L}\\p{N}])"; // every word that is typed may be the beginning of a word
let sections;

function searchIn(all) {
  sections = all;
  for (const s of sections) s.all = [s.title, s.heading, s.text].join(" ").toLowerCase();
  show();
}

function load() {
  if (sections) return;
  sections = [];
  document.head.append(Object.assign(document.createElement("script"), { src: "search-index.js" }));
}

// score counts the words that a section has. Headings give most points, then what tables explain, then text.
function score(section, words) {
  let points = 0, had = 0, own = false;
  for (const { typed, pattern } of words) {
    if (!section.all.includes(typed)) continue; // this is faster than the pattern
    const matches = section.text.match(pattern) || [], whole = matches.filter((match) => match.length === typed.length);
    const here = Math.min(matches.length, 5) + Math.min(whole.length, 5) +
      ({ "-1": 0, 0: 30 }[section.heading.search(pattern)] ?? 20) + (section.terms.search(pattern) >= 0 ? 10 : 0);
    const worth = here + (section.title.search(pattern) >= 0 ? 10 : 0);
    if (worth) had++;
    own ||= here > 0;
    points += worth * Math.min(typed.length, 6); // short words are everywhere
  }
  return { section, points, had: own ? had : 0 };
}

// marked returns text around the first match, with all matches marked.
function marked(text, any) {
  const start = Math.max(0, text.search(any) - 50);
  const part = text.slice(start && text.indexOf(" ", start) + 1, start + 200);
  const whole = start + 200 < text.length ? part.replace(/\s\S*$/, " …") : part;
  return whole.split(any).map((part, i) => i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
}

function show() {
  if (!sections.length) return; // they are being loaded
  const words = (field.value.toLowerCase().match(/[\p{L}\p{N}](\S*[\p{L}\p{N}])?/gu) || []).map((typed) =>
    ({ typed, pattern: new RegExp(atWord + typed.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&") + "[\\p{L}\\p{N}]*", "giu") }));
  const any = new RegExp("(" + words.map((word) => word.pattern.source).join("|") + ")", "iu");
  const found = sections.map((section) => score(section, words)).filter((f) => f.had > words.length / 2);
  found.sort((a, b) => b.had - a.had || b.points - a.points);
  const all = found.filter((f) => f.had === words.length).length, count = all + (all === 1 ? " section" : " sections");
  status.textContent = !found.length ? "Nothing found. Try fewer or shorter words."
    : all === found.length ? count : count + " with every word, " + (found.length - all) + " with most of them";
  list.replaceChildren(...found.slice(0, 20).map(({ section }) => {
    const link = document.createElement("a"), where = document.createElement("b"), text = document.createElement("span");
    const match = any.exec(section.text);
    link.href = section.page + "#" + section.anchor + (match ? ":~:text=" + encodeURIComponent(match[0]).replaceAll("-", "%2D") : "");
    where.textContent = section.title === section.heading ? section.title : section.title + " › " + section.heading;
    text.append(...marked(section.text, any));
    link.append(where, text);
    const item = document.createElement("li");
    item.append(link);
    return item;
  }));
  results.hidden = !words.length;
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
