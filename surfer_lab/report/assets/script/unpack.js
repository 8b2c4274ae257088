// Reads what a text carries deflated, in base64.
async function unpacked(element) {
  const bytes = Uint8Array.from(atob(element.textContent.trim()), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
