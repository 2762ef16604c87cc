// Masked terms, one by one and all at once. On paper they stay masked.
"use strict";
(() => {
  const page = document.documentElement;
  const all = document.getElementById("show-terms");
  const said = document.getElementById("said");
  const marks = () => document.querySelectorAll("svg [data-term]");

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

  addEventListener("beforeprint", () => marks().forEach((mark) => label(mark, false)));
  addEventListener("afterprint", () => {
    const shown = page.hasAttribute("data-show-terms");
    for (const mark of marks()) label(mark, shown);
  });
})();
