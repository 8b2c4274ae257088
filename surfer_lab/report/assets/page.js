// Sorts and filters the tables of a report and shows its operations on the GPU chosen. No request, nothing stored.
(() => {
  for (const root of document.querySelectorAll(".surfer:not([data-ready])")) {
    root.dataset.ready = "";
    for (const controls of root.querySelectorAll(".s-controls")) controls.hidden = false;
    const table = root.querySelector("table.s-gpus");
    if (table) setUpTable(root, table);
    const data = root.querySelector("script.s-data");
    const select = root.querySelector("select.s-on");
    if (data && select) setUpOperations(root, JSON.parse(data.textContent), select);
  }

  function setUpTable(root, table) {
    const body = table.tBodies[0];
    const search = root.querySelector("input.s-filter");
    const all = root.querySelector("input.s-all");
    const count = root.querySelector(".s-count");
    const show = () => {
      const words = (search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of body.rows) {
        const text = `${row.cells[0].textContent} ${row.dataset.find}`.toLowerCase();
        const found = words.every((word) => text.includes(word));
        row.hidden = !(found && (words.length || !all || all.checked || "short" in row.dataset));
        shown += !row.hidden;
      }
      if (count) count.textContent = `${shown} of ${body.rows.length} GPUs`;
    };
    search?.addEventListener("input", show);
    all?.addEventListener("change", show);
    show();
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button")?.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const key = (row) => row.cells[column].dataset.sort ?? "";
        const rows = [...body.rows].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x === "" || y === "") return (x === "") - (y === ""); // what is not known stays last
          const order = head.dataset.text === undefined ? x - y : x.localeCompare(y);
          return down ? -order : order;
        });
        body.append(...rows);
      });
    });
  }

  function setUpOperations(root, data, select) {
    const rows = root.querySelector("table.s-operations").tBodies[0].rows;
    select.addEventListener("change", () => {
      const gpu = Number(select.value);
      [...rows].forEach((row, index) => {
        const operation = data.operations[index];
        const put = (name, text) => {
          const cell = row.querySelector(`.s-there-${name}`);
          if (cell) cell.textContent = text;
        };
        put("time", operation.text[gpu]);
        put("range", operation.range[gpu]);
        put("share", operation.share[gpu]);
        put("limit", data.limits[operation.limit[gpu]]);
        put("method", data.methods[operation.method[gpu]]);
      });
      for (const place of root.querySelectorAll(".s-there-name")) place.textContent = data.gpus[gpu];
      const coverage = root.querySelector(".s-coverage");
      if (coverage) coverage.textContent = data.coverage[gpu];
    });
  }
})();
