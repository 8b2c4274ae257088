// Opens each block of a notebook that is not open yet: its data, and the script that was packed with them.
for (const root of document.querySelectorAll(".surfer:not([data-ready])")) {
  root.dataset.ready = "";
  const data = root.querySelector("script.s-data");
  if (data && "DecompressionStream" in window)
    unpacked(data).then((given) => {
      root.surferGiven = given;
      const script = document.createElement("script");
      script.textContent = given.script;
      root.append(script);
      script.remove();
    });
}
