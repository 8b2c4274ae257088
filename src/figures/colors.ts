// Which colour does a role in a figure have? The theme's, read from its CSS variables; told when the theme changes.

import { Signal, type ISignal } from '@lumino/signaling';

/** Roles of colours, as the figures' templates name them, and the variables that hold them. */
const VARIABLES: Readonly<Record<string, string>> = {
  ink: '--jp-ui-font-color1',
  muted: '--jp-ui-font-color2',
  grid: '--jp-border-color2',
  paper: '--jp-layout-color1',
  accent: '--jp-brand-color1',
  accent_soft: '--jp-brand-color3',
  second: '--jp-warn-color1',
  third: '--jp-info-color1',
  warn: '--jp-warn-color1',
  bad: '--jp-error-color1',
  good: '--jp-success-color1',
  idle: '--jp-layout-color3'
};

/** The colours of the roles where `node` is; a role that the theme has no colour for keeps the template's. */
export function colorsAt(
  node: Element,
  otherwise: Readonly<Record<string, string>>
): Record<string, string> {
  const style = getComputedStyle(node);
  const read = (role: string): string =>
    style.getPropertyValue(VARIABLES[role] ?? '').trim() || (otherwise[role] ?? '');
  return Object.fromEntries(
    Object.keys({ ...VARIABLES, ...otherwise }).map(role => [role, read(role)])
  );
}

/** `value` with every string that stands for a colour replaced. */
export function recolored<T>(
  value: T,
  from: Readonly<Record<string, string>>,
  to: Readonly<Record<string, string>>
): T {
  const replaced = new Map(
    Object.entries(from).map(([role, token]) => [token.toLowerCase(), to[role] ?? token])
  );
  const walk = (one: unknown): unknown => {
    if (typeof one === 'string') {
      return replaced.get(one.toLowerCase()) ?? one;
    }
    if (Array.isArray(one)) {
      return one.map(walk);
    }
    if (typeof one === 'object' && one !== null) {
      return Object.fromEntries(Object.entries(one).map(([key, inner]) => [key, walk(inner)]));
    }
    return one;
  };
  return walk(value) as T;
}

class ThemeWatch {
  get changed(): ISignal<this, void> {
    if (!this._observer) {
      // JupyterLab names the theme on the body; its stylesheet comes a moment later
      this._observer = new MutationObserver(() => {
        requestAnimationFrame(() => {
          this._changed.emit();
        });
      });
      this._observer.observe(document.body, {
        attributes: true,
        attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light']
      });
    }
    return this._changed;
  }

  private readonly _changed = new Signal<this, void>(this);
  private _observer: MutationObserver | null = null;
}

/** Tells when the page's theme has changed. */
export const themeWatch = new ThemeWatch();
