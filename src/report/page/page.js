// Tables can be sorted by their columns. Without this script they are in the order of the results.
"use strict";
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (!body || body.rows.length < 3) continue;
  const value = (row, at) => {
    const text = row.cells[at] ? row.cells[at].textContent.trim() : "";
    // A tie is in brackets.
    const number = parseFloat(text.replace(/^\(/, ""));
    return [Number.isNaN(number) ? Infinity : number, text];
  };
  Array.from(table.tHead.rows[0].cells).forEach((head, at) => {
    if (!head.textContent) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    let down = false;
    button.addEventListener("click", () => {
      down = !down;
      const rows = Array.from(body.rows).sort((a, b) => {
        const [x, s] = value(a, at), [y, t] = value(b, at);
        const order = x === y ? s.localeCompare(t) : x - y;
        return down ? -order : order;
      });
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...rows);
    });
  });
}
