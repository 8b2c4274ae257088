// How is an element made whose text came from a trace? As text nodes: data never becomes markup.

/** An element of class `jp-Surfer<className>` that holds the given texts and elements. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className: string,
  ...children: readonly (string | Node)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (className) {
    made.className = className
      .split(' ')
      .map(one => (one.startsWith('jp-') ? one : `jp-Surfer${one}`))
      .join(' ');
  }
  made.append(...children);
  return made;
}
