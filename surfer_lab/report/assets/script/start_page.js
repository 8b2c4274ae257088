// On a page of its own: each prediction of the page.
for (const root of document.querySelectorAll(".surfer:not([data-ready])")) {
  root.dataset.ready = "";
  const data = root.querySelector("script.s-data");
  if (data) unpacked(data).then((given) => setUp(root, given, figuresOf(root)));
}
