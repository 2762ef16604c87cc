// The token explorer: draws the rows in sight, sorts and searches. Tokens are hostile strings:
// they reach the page by textContent only.
const root = document.getElementById("explorer");
const part = (name) => root.querySelector(`[data-x=${name}]`);
const index = JSON.parse(part("index").textContent);
const scroller = part("window"), grid = part("grid"), say = part("status");
const head = grid.tHead, body = grid.tBodies[0];
const whole = new Intl.NumberFormat("en"), PLACES = 2 ** 21, BEYOND = 10, HEAD = 2;
const vocabularies = new Map(), tables = new Map(), drawn = new Map(), toggled = new Map(), above = space(), below = space();
let table, sort, matches = [], word = -1, active = 0, height = 32;

function ready(number) {
  const from = index.tables[number];
  return once(tables, number, async () => {
    const made = { ...from, columns: [] };
    made.vocabulary = await once(vocabularies, from.vocabulary, () => unpacked(index.vocabularies[from.vocabulary]));
    for (const each of from.columns) made.columns.push(await column(each));
    return made;
  });
}

async function open(number) {
  const from = index.tables[number];
  say.textContent = `Reading the sweeps of ${from.model} …`;
  const made = await ready(number);
  if (Number(part("model").value || 0) !== number) return; // another was chosen meanwhile
  const before = sort && table.columns[sort.column].prompt;
  table = made;
  word = -1;
  toggled.clear();
  sort = { by: "score", down: true, ...sort, column: Math.max(0, made.columns.findIndex(({ prompt }) => prompt === before)) };
  if (sort.by === "gap") sort.by = "score";
  choices();
  heads();
  search();
}

// Searching and sorting

function search() {
  const { ids, words, texts, folded: low, masks } = table.vocabulary;
  const asked = folded(part("text").value), id = part("id").value.trim();
  const order = sort.by === "id" ? ids.map((_, i) => sort.down ? ids.length - 1 - i : i)
    : (sort.by === "gap" ? against : table.columns[sort.column])[sort.down ? "down" : "up"];
  const only = filter();
  const fits = (i) => (word < 0 || words[i] === word) && (!id || String(ids[i]) === id) && (!asked || low[i].includes(asked))
    && (!only || only(i));
  matches = word < 0 && !id && !asked && !only ? order : order.filter(fits);
  const hidden = masks.has(word) && !shown(word);
  const what = [
    word < 0 ? "" : `that are spellings of ${hidden ? "a masked term" : `“${texts[word]}”`}`,
    asked && `with “${part("text").value}”`, id && `with id ${id}`, ...filterInWords(),
  ].filter(Boolean).join(", ");
  const by = sort.by === "id" ? "id" : sort.by === "gap" ? `the difference ${against.name}` : `${sort.by} under ${table.columns[sort.column].prompt}`;
  const ends = sort.by === "id" || sort.by === "gap" ? (sort.down ? "greatest" : "least") : sort.down ? "best" : "worst";
  say.textContent = `${whole.format(matches.length)} of ${whole.format(ids.length)} tokens${table.sample ? " (a sample of the vocabulary)" : ""}`
    + `${what && ` ${what}`}; by ${by}, ${ends} first`;
  grid.setAttribute("aria-rowcount", matches.length + HEAD);
  active = 0;
  scroller.scrollTop = 0;
  draw(true);
}

function heads() {
  const top = document.createElement("tr"), second = document.createElement("tr");
  const cell = (row, text, by, number) => {
    const th = document.createElement("th");
    th.scope = "col";
    th.textContent = by ? "" : text;
    if (by) {
      const button = th.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = text;
      button.addEventListener("click", () => {
        const same = sort.by === by && (by === "gap" || sort.column === number);
        sort = { column: by === "gap" ? sort.column : number, by, down: same ? !sort.down : by !== "id" };
        sorted();
        search();
      });
      Object.assign(th.dataset, { by, number });
    }
    row.append(th);
    return th;
  };
  for (const [text, by] of [["token"], ["id", "id"], ["spellings"]]) cell(top, text, by, 0).rowSpan = 2;
  table.columns.forEach((each, number) => {
    const group = cell(top, each.prompt);
    Object.assign(group, { colSpan: 3, scope: "colgroup", className: "ex-group", title: each.asked });
    cell(second, "score", "score", number);
    cell(second, "rank", "rank", number);
    cell(second, "percentile");
  });
  if (against) {
    Object.assign(cell(top, against.name), { scope: "colgroup", className: "ex-group" });
    cell(second, "difference, sd", "gap", 0);
  }
  [top, second].forEach((row, i) => row.setAttribute("aria-rowindex", i + 1));
  head.replaceChildren(top, second);
  sorted();
}

function sorted() {
  for (const th of head.querySelectorAll("[data-by]")) {
    const on = th.dataset.by === sort.by && (sort.by === "gap" || Number(th.dataset.number) === sort.column);
    if (!on) { th.removeAttribute("aria-sort"); continue; }
    th.setAttribute("aria-sort", sort.down === (sort.by !== "rank") ? "descending" : "ascending");
  }
}

// Drawing: a row for each match in sight, and room above and below for the others

function space() {
  const row = document.createElement("tr");
  row.className = "ex-space";
  row.setAttribute("aria-hidden", "true");
  row.append(document.createElement("td"));
  return row;
}

const sight = () => scroller.clientHeight - head.offsetHeight;

function draw(anew) {
  if (!table) return;
  const first = Math.max(0, Math.min(matches.length, Math.floor(scroller.scrollTop / height)) - BEYOND);
  const last = Math.min(matches.length, first + Math.ceil(sight() / height) + 2 * BEYOND);
  const old = []; // which go last: a table that is shorter for a moment is scrolled up by that much
  for (const [at, row] of drawn) if (anew || at < first || at >= last) { old.push(row); drawn.delete(at); }
  above.style.height = `${first * height}px`;
  below.style.height = `${(matches.length - last) * height}px`;
  if (!above.isConnected) body.replaceChildren(above, below);
  let next = below;
  for (let at = last - 1; at >= first; at--) {
    if (!drawn.has(at)) { drawn.set(at, filled(at)); body.insertBefore(drawn.get(at), next); }
    next = drawn.get(at);
    next.tabIndex = at === active ? 0 : -1;
  }
  for (const row of old) row.remove();
}

// Of a masked term: what the reader did to it since the page's switch last turned, or the switch.
const shown = (row) => toggled.get(row) ?? document.documentElement.hasAttribute("data-show-terms");

function filled(at) {
  const row = matches[at], tr = document.createElement("tr"), { vocabulary } = table;
  tr.setAttribute("aria-rowindex", at + HEAD + 1);
  tr.dataset.at = at;
  const cell = (text, right = true) => {
    const td = tr.appendChild(document.createElement("td"));
    td.textContent = text;
    if (right) td.className = "n";
    return td;
  };
  const token = cell("", false), mask = vocabulary.masks.get(row), count = vocabulary.counts[vocabulary.words[row]];
  if (mask === undefined) token.append(element("bdi", {}, vocabulary.texts[row]));
  else token.append(maskedTerm(mask, vocabulary.texts[row], shown(row), { tabIndex: -1 }));
  cell(vocabulary.ids[row]);
  const spelt = cell("");
  if (count > 1) {
    const button = element("button", { type: "button", tabIndex: -1, className: "ex-spell" }, count);
    button.append(element("span", { className: "unseen" }, " spellings; show them"));
    spelt.append(button);
  }
  for (const { scores, sure, ranks, near, scored, decimals } of table.columns) {
    const rank = ranks[row], share = 100 * (1 - (rank - 0.5) / scored), none = Number.isNaN(rank);
    cell(none ? "–" : `${decimals === null && !sure[row] ? "≈" : ""}${round(scores[row], decimals)}`);
    cell(none ? "–" : near[row] ? `≈${whole.format(Math.round(rank))}` : whole.format(rank));
    cell(none ? "–" : (near[row] ? "≈" : "") + (share > 99.99 ? ">99.99" : share < 0.01 ? "<0.01" : share.toFixed(2)));
  }
  if (against) cell(Number.isNaN(against.gaps[row]) ? "–" : (against.sure[row] ? "" : "≈") + round(against.gaps[row], 2));
  return tr;
}

// To the decimals that all scores of a sweep have; where they have none, to four digits.
function round(score, decimals) {
  const size = Math.abs(score);
  if (decimals !== null) return (Number(score.toFixed(decimals)) + 0).toFixed(decimals); // never -0.00
  return size && (size < 1e-3 || size >= 1e5) ? score.toExponential(2) : score.toPrecision(4);
}

// Moving and acting

function move(to) {
  active = Math.max(0, Math.min(matches.length - 1, to));
  const start = active * height;
  if (start < scroller.scrollTop) scroller.scrollTop = start;
  if (start + height > scroller.scrollTop + sight()) scroller.scrollTop = start + height - sight();
  draw();
  drawn.get(active)?.focus({ preventScroll: true });
}

function enter() {
  const row = matches[active], term = drawn.get(active)?.querySelector(".term");
  if (term && !shown(row)) term.click();
  else spell(row);
}

function spell(row) {
  const { words, counts } = table.vocabulary;
  if (!(counts[words[row]] > 1)) return;
  word = words[row];
  part("text").value = part("id").value = "";
  search();
  move(0);
}

function all() {
  word = -1;
  part("text").value = part("id").value = "";
  part("lexicon").value = "0";
  for (const name of ["identity", "whole", "once"]) part(name).checked = false;
  search();
}

body.addEventListener("keydown", (event) => {
  const page = Math.max(1, Math.floor(sight() / height) - 1);
  const to = {
    ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page,
    Home: 0, End: matches.length - 1,
  }[event.key];
  if (to !== undefined) move(to);
  else if (event.key === "Enter") enter();
  else if (event.key === "Escape") { all(); move(0); } else return;
  event.preventDefault();
});
body.addEventListener("click", (event) => {
  const tr = event.target.closest("tr[data-at]"), button = event.target.closest("button");
  if (!tr) return;
  const at = Number(tr.dataset.at), row = matches[at];
  if (button?.matches(".ex-spell")) { spell(row); return; }
  if (button) toggled.set(row, !shown(row)); // page.js turns the button
  move(at);
});
scroller.addEventListener("scroll", () => {
  const first = Math.ceil(scroller.scrollTop / height), last = first + Math.floor(sight() / height) - 1;
  const held = body.contains(document.activeElement);
  if (active < first || active > last) active = Math.max(0, Math.min(matches.length - 1, Math.max(first, Math.min(last, active))));
  draw();
  if (held) drawn.get(active)?.focus({ preventScroll: true });
}, { passive: true });
let wait;
part("form").addEventListener("input", (event) => {
  if (event.target === part("model")) return;
  if ([part("first"), part("second")].includes(event.target)) {
    differ().then(() => {
      sort = against ? { ...sort, by: "gap", down: true } : { ...sort, by: sort.by === "gap" ? "score" : sort.by };
      heads();
      search();
    });
    return;
  }
  word = -1;
  clearTimeout(wait);
  wait = setTimeout(search, 120);
});
part("form").addEventListener("submit", (event) => { event.preventDefault(); search(); });
part("model").addEventListener("change", () => open(Number(part("model").value)));
part("all").addEventListener("click", all);
part("csv").addEventListener("click", download);
new MutationObserver(() => toggled.clear()).observe(document.documentElement, { attributeFilter: ["data-show-terms"] });

async function start() {
  if (!window.DecompressionStream) return;
  index.tables.forEach(({ model, columns }, i) => {
    const twice = index.tables.filter((other) => other.model === model).length > 1;
    part("model").add(new Option(twice ? `${model}: ${columns.map(({ prompt }) => prompt).join(", ")}` : model, i));
  });
  index.lexicons.forEach((name, i) => part("lexicon").add(new Option(name, i + 1)));
  part("models").hidden = index.tables.length < 2;
  part("fallback").hidden = true;
  for (const name of ["form", "window", "keys"]) part(name).hidden = false;
  await open(0);
  const real = drawn.get(0)?.getBoundingClientRect().height;
  if (real) { height = real; draw(true); }
  root.dataset.ready = "";
}

// After the first paint: what is above can be read meanwhile.
if (index.tables.length) addEventListener("load", () => requestAnimationFrame(() => setTimeout(start)));
