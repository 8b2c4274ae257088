// How are the native controls made? Each with its label tied to it; events are the caller's.

import { element } from './element';

let made = 0;

/** An id that no other element of the page has. */
export function freshId(): string {
  made += 1;
  return `jp-surfer-${made}`;
}

/** Leave an element its keys: a notebook in command mode would take arrows and Enter from what is in its outputs. */
export function keepsKeys<Node extends HTMLElement>(node: Node): Node {
  node.setAttribute('data-lm-suppress-shortcuts', 'true');
  return node;
}

/** A button with text; `label` where the text is a sign only. */
export function button(
  className: string,
  text: string,
  onClick: (event: MouseEvent) => void,
  label = ''
): HTMLButtonElement {
  const one = keepsKeys(element('button', className, text));
  one.type = 'button';
  if (label) {
    one.setAttribute('aria-label', label);
    one.title = label;
  }
  one.addEventListener('click', onClick);
  return one;
}

/** A labelled choice of few. `set` replaces the options and the value. */
export interface ISelect {
  readonly node: HTMLElement;
  readonly control: HTMLSelectElement;
  set(
    options: readonly {
      readonly value: string;
      readonly text: string;
      readonly disabled?: boolean;
    }[],
    value: string
  ): void;
}

/** A select with its label. */
export function select(
  className: string,
  label: string,
  onChange: (value: string) => void
): ISelect {
  const control = keepsKeys(element('select', 'Field-select'));
  control.id = freshId();
  const caption = element('label', 'Field-label', label);
  caption.htmlFor = control.id;
  control.addEventListener('change', () => {
    onChange(control.value);
  });
  return {
    node: element(
      'div',
      `Field ${className ? `jp-Surfer${className}` : ''}`.trim(),
      caption,
      control
    ),
    control,
    set: (options, value) => {
      const same =
        options.length === control.options.length &&
        options.every((option, index) => {
          const now = control.options[index];
          return (
            now?.value === option.value &&
            now.text === option.text &&
            now.disabled === (option.disabled === true)
          );
        });
      if (!same) {
        control.replaceChildren(
          ...options.map(option => {
            const one = element('option', '', option.text);
            one.value = option.value;
            one.disabled = option.disabled === true;
            return one;
          })
        );
      }
      control.value = value;
    }
  };
}

/** A labelled slider over the places of a list; what the place means is said beside it and to screen readers. */
export interface ISlider {
  readonly node: HTMLElement;
  readonly control: HTMLInputElement;
  set(
    range: { readonly max: number; readonly min?: number; readonly step?: number },
    value: number,
    text: string
  ): void;
}

/** A slider with its label and its value in words. */
export function slider(
  className: string,
  label: string,
  onInput: (value: number) => void
): ISlider {
  const control = keepsKeys(element('input', 'Field-slider'));
  control.type = 'range';
  control.id = freshId();
  const caption = element('label', 'Field-label', label);
  caption.htmlFor = control.id;
  const output = element('output', 'Field-value');
  output.htmlFor.add(control.id);
  control.addEventListener('input', () => {
    onInput(control.valueAsNumber);
  });
  return {
    node: element(
      'div',
      `Field ${className ? `jp-Surfer${className}` : ''}`.trim(),
      caption,
      control,
      output
    ),
    control,
    set: ({ max, min = 0, step = 1 }, value, text) => {
      // in this order: a value outside the old range would be cut to it
      control.min = String(min);
      control.max = String(max);
      control.step = String(step);
      if (control.valueAsNumber !== value) {
        control.value = String(value);
      }
      control.setAttribute('aria-valuetext', text);
      output.textContent = text;
    }
  };
}

/** A labelled tick box. */
export interface ICheck {
  readonly node: HTMLElement;
  readonly control: HTMLInputElement;
}

/** A tick box before its label. */
export function checkBox(
  className: string,
  label: string,
  onChange: (isOn: boolean) => void
): ICheck {
  const control = keepsKeys(element('input', 'Field-check'));
  control.type = 'checkbox';
  control.id = freshId();
  const caption = element('label', 'Field-label', label);
  caption.htmlFor = control.id;
  control.addEventListener('change', () => {
    onChange(control.checked);
  });
  return {
    node: element(
      'div',
      `Field jp-mod-check ${className ? `jp-Surfer${className}` : ''}`.trim(),
      control,
      caption
    ),
    control
  };
}
