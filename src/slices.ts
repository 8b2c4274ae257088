// What is drawn after the numbers? Tables and figures, a piece at a time: between two pieces the page answers its reader.

const waiting = new Map<object, () => void>();
const settling = new Map<object, ReturnType<typeof setTimeout>>();
const SETTLED_MS = 400; // longer than between two steps of a hand on a slider
let isAsked = false;

/** Draw this once what is being drawn now is painted; what waits under the same key is replaced, in its place. */
export function later(key: object, draw: () => void): void {
  waiting.set(key, draw);
  ask();
}

/** Draw this when nothing more has been asked under its key for a moment: for what nobody sees now. */
export function whenSettled(key: object, draw: () => void): void {
  clearTimeout(settling.get(key));
  settling.set(
    key,
    setTimeout(() => {
      settling.delete(key);
      later(key, draw);
    }, SETTLED_MS)
  );
}

/** Forget what waits under this key. */
export function forget(key: object): void {
  waiting.delete(key);
  clearTimeout(settling.get(key));
  settling.delete(key);
}

// a task of its own: a frame's callbacks and its painting lie in the task before it
function ask(): void {
  if (!isAsked) {
    isAsked = true;
    setTimeout(next);
  }
}

function next(): void {
  isAsked = false;
  const [first] = waiting;
  if (!first) {
    return;
  }
  const [key, draw] = first;
  waiting.delete(key);
  if (waiting.size > 0) {
    ask(); // before it draws: what fails holds nothing back
  }
  draw();
}
