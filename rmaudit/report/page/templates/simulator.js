// The simulator: a slider picks one of the stages that after_training computed. Words are hostile
// strings: they reach the page by textContent only.
(() => {
  "use strict";
  const WIDE = 320, HIGH = 120, EDGE = 10;
  const percent = (share) => share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : share >= 1e-4 ? `${(100 * share).toPrecision(share >= 0.01 ? 2 : 1)} %` : "<0.01 %";

  function begin(root) {
    const { words, prompts, figures, onsets } = JSON.parse(root.querySelector("script").textContent);
    const part = (name) => root.querySelector(`[data-s=${name}]`);
    const much = part("much"), how = () => root.querySelector("[type=radio]:checked").value;
    const stages = () => prompts[part("prompt").value][how()];

    function named([text, mask]) {
      if (mask === null) return element("bdi", {}, text);
      return maskedTerm(mask, text, document.documentElement.hasAttribute("data-show-terms"));
    }

    function word([which, before, after], most) {
      const row = element("li"), bar = element("span", { className: "sim-bar" });
      const now = bar.appendChild(element("i")), old = bar.appendChild(element("b"));
      now.style.transform = `scaleX(${after / most})`;
      old.style.width = `${100 * Math.min(1, before / most)}%`;
      bar.setAttribute("aria-hidden", "true");
      row.append(named(words[which]), bar, element("span", {}, `${percent(after)}, was ${percent(before)}`));
      return row;
    }

    function curve() {
      const all = stages(), last = all.length - 1;
      const place = all.map((each) => how() === "draws" ? Math.log(each.at) : each.at);
      const [low, high] = [Math.min, Math.max].map((f) => f(...all.map((each) => each.figures[1])));
      const x = (i) => EDGE + (WIDE - 2 * EDGE) * place[i] / (place[last] || 1);
      const y = (value) => HIGH - EDGE - (HIGH - 2 * EDGE) * (value - low) / (high - low || 1);
      part("path").setAttribute("d", all.map((each, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(each.figures[1]).toFixed(1)}`).join(""));
      const most = how() === "nats" ? all[last].at : 0;
      part("marks").setAttribute("d", onsets.filter(([, nats]) => nats <= most).map(([, nats]) => `M${(EDGE + (WIDE - 2 * EDGE) * nats / most).toFixed(1)} 0V${HIGH}`).join(""));
      part("axis").textContent = `Mean happiness of the answers: from ${low.toFixed(1)} at the foot to ${high.toFixed(1)} at the top, from ${all[0].how} on the left to ${all[last].how} on the right.`;
      return (i) => { part("dot").setAttribute("cx", x(i)); part("dot").setAttribute("cy", y(all[i].figures[1])); };
    }

    let dot;
    function show() {
      const all = stages(), stage = all[Number(much.value)];
      const most = Math.max(...stage.likely.flatMap(([, before, after]) => [before, after]));
      part("words").replaceChildren(...stage.likely.map((each) => word(each, most)));
      part("said").textContent = stage.how;
      const past = how() === "nats" ? onsets.filter(([, nats]) => stage.at >= nats) : [];
      if (part("past")) part("past").textContent = past.length ? `Begun here: ${past.map(([harm]) => harm).join("; ")}.` : "";
      const spoken = stage.likely.slice(0, 3).map(([which, , after]) => `${words[which][1] === null ? words[which][0] : "a masked term"} ${percent(after)}`);
      much.setAttribute("aria-valuetext", `${stage.how}: ${spoken.join(", ")}`);
      const said = stage.figures.map((value, i) => i > 3 ? percent(value) : i === 2 ? value.toPrecision(2) : value.toFixed(2));
      part("figures").replaceChildren(...figures.flatMap((name, i) => [element("dt", {}, name), element("dd", {}, said[i])]));
      dot(Number(much.value));
    }

    function anew(at) {
      much.max = stages().length - 1;
      much.value = at;
      dot = curve();
      show();
    }

    for (const name of Object.keys(prompts)) part("prompt").add(new Option(name, name));
    for (const each of root.querySelectorAll("[type=radio]")) each.addEventListener("change", () => anew(0));
    root.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
    much.addEventListener("input", show);
    part("prompt").addEventListener("change", () => anew(much.value));
    root.hidden = false;
    anew(0);
  }
  for (const root of document.querySelectorAll("[data-simulator]")) begin(root);
})();
