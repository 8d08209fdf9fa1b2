const field = document.getElementById("search"), hits = document.getElementById("hits");
const rows = [...document.querySelectorAll("[data-find]")];
const texts = rows.map((row) => row.textContent.toLowerCase());
field.closest(".search").hidden = false;
field.addEventListener("input", () => {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let number = 0;
  rows.forEach((row, at) => {
    row.hidden = !words.every((word) => texts[at].includes(word));
    number += !row.hidden;
  });
  if (hits) hits.hidden = !words.length;
  document.getElementById("found").textContent = words.length ? `${number} found` : "";
});
