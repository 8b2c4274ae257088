// How does Bokeh get into the page? As a chunk of our own, when a figure is first seen: nobody pays for it at start-up.
//
// It is the same minor version as the kernel's, for the figures are built there; a test holds the two together.
// `window.Bokeh` is set where nobody has set it: ipywidgets with Bokeh figures (jupyter_bokeh) look for it.

/** The little of Bokeh that is used. */
export interface IBokeh {
  readonly version: string;
  set_log_level(level: string): void;
  readonly embed: {
    embed_item(item: IItem, target: HTMLElement): Promise<IViewManager>;
  };
}

/** A figure as Bokeh's JSON. */
export interface IItem {
  readonly doc: unknown;
  readonly root_id: string;
  readonly target_id: string | null;
}

export interface IViewManager {
  readonly roots: readonly IView[];
  clear(): void;
}

/** What draws a model: its line, fill and text properties, and the sheet that places its element. */
export interface IView {
  readonly model: IModel;
  readonly visuals?: Iterable<{ _get_css_value?: (name: string) => string }>;
  readonly position?: { readonly css: string; replace(css: string, styles?: unknown): void };
  children?(): Iterable<IView>;
}

export interface IModel {
  readonly document: IDocument | null;
}

export interface IDocument {
  get_model_by_name(name: string): Record<string, unknown> | null;
  clear(): void;
}

/** A figure's empty form: its item, the columns of its sources, and which strings in it stand for colours. */
export interface ITemplates {
  readonly colors: Readonly<Record<string, string>>;
  readonly figures: Readonly<Record<string, IItem>>;
}

/**
 * Spare the page work that gives what is known. At every painting Bokeh asks the page's style of each property of each
 * line and text whether a theme of its own has it, and writes each element's place anew; each question after such a
 * writing has the styles worked out again, some hundred times a figure. Here colours come with the template, and a
 * place is written when it has changed.
 */
export function spareStyles(view: IView): void {
  for (const visual of view.visuals ?? []) {
    if (visual._get_css_value) {
      visual._get_css_value = () => '';
    }
  }
  const { position } = view;
  if (position) {
    const replace = position.replace.bind(position);
    position.replace = (css, styles) => {
      if (styles !== undefined || css !== position.css) {
        replace(css, styles);
      }
    };
  }
  for (const child of view.children?.() ?? []) {
    spareStyles(child);
  }
}

let loading: Promise<{ readonly bokeh: IBokeh; readonly templates: ITemplates }> | null = null;

/** Bokeh and the figures' templates; loaded once. */
export function loadBokeh(): Promise<{ readonly bokeh: IBokeh; readonly templates: ITemplates }> {
  loading ??= Promise.all([
    import('@bokeh/bokehjs/build/js/bokeh.esm.min.js'),
    import('../generated/figures.json')
  ]).then(([module, figures]) => {
    const bokeh = module.default as IBokeh;
    bokeh.set_log_level('error'); // figures are made empty and filled: no news to a reader
    const host = globalThis as { Bokeh?: unknown };
    host.Bokeh ??= bokeh;
    return { bokeh, templates: templatesOf(figures.default) };
  });
  loading.catch(() => {
    loading = null; // a lost connection: the next figure tries again
  });
  return loading;
}

function templatesOf(file: unknown): ITemplates {
  const { colors, ...figures } = file as {
    colors: Record<string, string>;
  } & Record<string, { item: IItem }>;
  return {
    colors,
    figures: Object.fromEntries(
      Object.entries(figures).map(([name, figure]) => [name, figure.item])
    )
  };
}
