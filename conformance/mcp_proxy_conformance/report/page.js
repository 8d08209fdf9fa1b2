for (const command of document.querySelectorAll("pre.command")) {
  const button = document.createElement("button");
  button.type = "button";
  button.setAttribute("aria-live", "polite");
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected: copy it now";
    }
  });
  command.before(button);
}

const unfold = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const inner = target?.querySelector(":scope > details");
  if (inner) inner.open = true;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target?.scrollIntoView();
};
addEventListener("hashchange", unfold);
if (location.hash) unfold();

const field = document.getElementById("search");
if (field) {
  const found = document.getElementById("found");
  const sections = [...document.querySelectorAll("section.clause")];
  const parts = [...document.querySelectorAll("main .part")];
  const folded = parts.map((part) => part.open);
  const texts = sections.map((section) => section.textContent.toLowerCase());
  field.closest(".search").hidden = false;
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let number = 0;
    sections.forEach((section, at) => {
      const matches = words.every((word) => texts[at].includes(word));
      section.classList.toggle("unmatched", !matches);
      number += matches;
    });
    parts.forEach((part, at) => {
      part.classList.toggle("unmatched", !part.querySelector(".clause:not(.unmatched)"));
      if ("open" in part) part.open = words.length > 0 || folded[at];
    });
    found.textContent = words.length ? `${number} of ${sections.length} clauses` : "";
  });
  addEventListener("keydown", (event) => {
    const typing = event.target.matches("input, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && event.target === field) {
      field.value = "";
      field.dispatchEvent(new Event("input"));
    }
  });
}

const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
for (const grid of document.querySelectorAll("svg.picture")) {
  const cells = [...grid.querySelectorAll("a.cell")];
  const middle = (cell) => {
    const box = cell.querySelector("rect");
    return [box.x.baseVal.value, box.y.baseVal.value];
  };
  const reached = cells.some((cell) => cell.getAttribute("tabindex") !== "-1");
  if (cells.length && !reached) cells[0].setAttribute("tabindex", "0");
  grid.addEventListener("keydown", (event) => {
    const from = event.target.closest("a.cell");
    const [across, down] = ARROWS[event.key] ?? [0, 0];
    if (!from || !(across || down)) return;
    event.preventDefault();
    const [x, y] = middle(from);
    const ahead = cells.map((cell) => [cell, ...middle(cell)])
      .filter(([, a, b]) => across ? b === y && (a - x) * across > 0 : a === x && (b - y) * down > 0)
      .sort(([, a, b], [, c, d]) => Math.abs(a - x + b - y) - Math.abs(c - x + d - y));
    if (ahead.length) ahead[0][0].focus();
  });
}
