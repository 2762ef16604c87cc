"use strict";
// What the explorer and the simulator use too. Texts are hostile strings: they reach the page by
// textContent only.

function element(tag, properties, text = "") {
  const made = Object.assign(document.createElement(tag), properties);
  made.textContent = text;
  return made;
}

// A masked term, as page/__init__.py makes it.
function maskedTerm(mask, text, open, properties = {}) {
  const button = element("button", { type: "button", className: "term", ...properties });
  const cover = element("span", { className: "cover" }, mask);
  cover.append(element("span", { className: "unseen" }, " masked term"));
  button.append(cover, element("bdi", { className: "real" }, open ? text : ""));
  button.setAttribute("aria-expanded", open);
  button.dataset.term = text;
  return button;
}

function inflated(base64) {
  const raw = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate")));
}

// Masked terms, one by one and all at once. On paper they stay masked.

(() => {
  const page = document.documentElement;
  const all = document.getElementById("show-terms");
  const said = document.getElementById("said");
  const marks = () => document.querySelectorAll("svg [data-term], .heat [data-term]");

  function set(button, shown) {
    button.setAttribute("aria-expanded", shown);
    button.lastElementChild.textContent = shown ? button.dataset.term : "";
  }

  // Pictures have no buttons: their labels follow the switch.
  function label(mark, shown) {
    mark.dataset.mask ??= mark.textContent;
    mark.textContent = shown ? mark.dataset.term : mark.dataset.mask;
  }

  function setAll(shown) {
    all.setAttribute("aria-checked", shown);
    page.toggleAttribute("data-show-terms", shown);
    for (const button of document.querySelectorAll("button.term")) set(button, shown);
    for (const mark of marks()) label(mark, shown);
    said.textContent = shown ? "Masked terms are shown." : "Terms are masked.";
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.term");
    if (button) set(button, button.getAttribute("aria-expanded") !== "true");
  });
  all.addEventListener("click", () => setAll(all.getAttribute("aria-checked") !== "true"));
  all.hidden = false;

  // Tables of what pictures show travel compressed.
  async function unpack(place) {
    place.innerHTML = await inflated(place.dataset.packed).text();
    place.removeAttribute("data-packed");
    if (page.hasAttribute("data-show-terms")) for (const button of place.querySelectorAll("button.term")) set(button, true);
  }
  if (window.DecompressionStream) addEventListener("load", () => document.querySelectorAll("[data-packed]").forEach(unpack));

  addEventListener("beforeprint", () => marks().forEach((mark) => label(mark, false)));
  addEventListener("afterprint", () => {
    const shown = page.hasAttribute("data-show-terms");
    for (const mark of marks()) label(mark, shown);
  });
})();

// A link to an audit opens it and everything around it.

(() => {
  function open() {
    const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!named) return;
    for (let each = named; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
    named.scrollIntoView();
  }
  addEventListener("hashchange", open);
  document.addEventListener("click", (event) => {
    if (event.target.closest("a")?.hash === location.hash && location.hash) setTimeout(open);
  });
  open();
})();

// Columns sort by a click on their heads: numbers as numbers, the unmeasured last.

(() => {
  for (const head of document.querySelectorAll("th[data-sort]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.cellIndex ? "descending" : "ascending"; // the names from a to z
      const down = head.getAttribute("aria-sort") === first ? first === "ascending" : first === "descending";
      for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = head.closest("table").tBodies[0], at = head.cellIndex;
      const key = (row) => row.cells[at].dataset.value ?? (row.cells[at].tagName === "TH" ? row.cells[at].textContent.trim() : null);
      const order = (a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        const apart = Number.isNaN(Number(x)) ? x.localeCompare(y) : Number(x) - Number(y);
        return down ? -apart : apart;
      };
      body.append(...[...body.rows].sort(order));
    });
  }
})();
