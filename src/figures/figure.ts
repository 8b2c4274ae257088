// How is a figure shown? Bokeh's plot from a template, its sources replaced when numbers change; and its table twin,
// one button away. Nothing is loaded or drawn before it can be seen, and nothing redrawn while it cannot.

import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';

import { button } from '../components/controls';
import { element } from '../components/element';
import { table } from '../components/table';
import { forget, later } from '../slices';
import { loadBokeh, spareStyles, type IDocument, type IViewManager } from './bokeh';
import { colorsAt, recolored, themeWatch } from './colors';

/** Columns of a source, by name; all of one length. A `color` column holds roles. */
export type Columns = Readonly<Record<string, readonly unknown[]>>;

/** What a figure shows now. */
export interface IFigureData {
  /** One sentence for those who cannot see it. */
  readonly description: string;
  readonly sources: Readonly<Record<string, Columns>>;
  readonly factors?: readonly string[];
  readonly xLabel?: string;
  readonly yLabel?: string;
  readonly height?: number;
  readonly columns: readonly string[];
  /** The same numbers as text; asked for when the table is looked at. */
  readonly rows: () => readonly (readonly string[])[];
}

/** One figure. */
export class Figure implements IDisposable {
  constructor(
    private readonly _template: string,
    private readonly _title: string,
    private readonly _trans: TranslationBundle,
    private readonly _onTap: ((source: string, index: number) => void) | null = null
  ) {
    this._toggle = button('Figure-toggle', '', () => {
      this._showTable(!this._showsTable);
    });
    this._plot = element('div', 'Figure-plot');
    this._plot.setAttribute('role', 'img');
    this._table = element('div', 'Figure-table');
    this._table.tabIndex = 0;
    this._table.setAttribute('role', 'region');
    this._table.setAttribute('aria-label', _title);
    this._table.hidden = true;
    this.node = element(
      'figure',
      'Figure',
      element(
        'figcaption',
        'Figure-caption',
        element('span', 'Figure-title', _title),
        this._toggle
      ),
      this._plot,
      this._table
    );
    this._showTable(false);
    this._observer = new IntersectionObserver(seen => {
      this._isSeen = seen.some(one => one.isIntersecting);
      this._draw();
    });
    this._observer.observe(this.node);
    themeWatch.changed.connect(this._onTheme, this);
  }

  readonly node: HTMLElement;

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Show these numbers, null for those it has; worked out at once the first time, then after what is painted first. */
  set(make: () => IFigureData | null): void {
    if (this._data) {
      later(this, () => {
        this._take(make());
      });
    } else {
      this._take(make());
    }
  }

  private _take(data: IFigureData | null): void {
    if (!data) {
      return;
    }
    this._data = data;
    this._isStale = true;
    this._plot.setAttribute('aria-label', `${this._title}. ${data.description}`);
    if (this._showsTable) {
      this._drawTable();
    }
    this._draw();
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    forget(this);
    this._observer.disconnect();
    themeWatch.changed.disconnect(this._onTheme, this);
    this._clear();
  }

  private _showTable(shows: boolean): void {
    this._showsTable = shows;
    this._toggle.textContent = shows ? this._trans.__('As a figure') : this._trans.__('As a table');
    this._toggle.setAttribute('aria-label', `${this._title}: ${this._toggle.textContent}`);
    this._plot.hidden = shows;
    this._table.hidden = !shows;
    if (shows) {
      this._drawTable();
    } else {
      this._draw();
    }
  }

  private _drawTable(): void {
    const { columns, rows } = this._data ?? { columns: [], rows: () => [] };
    this._table.replaceChildren(
      table(
        this._title,
        columns.map((label, index) => ({
          label,
          isNumber: index > 0,
          cell: (row: readonly string[]) => ({ text: row[index] ?? '' })
        })),
        rows()
      )
    );
  }

  private _draw(): void {
    if (!this._data || !this._isSeen || this._showsTable || !this._isStale || this._isDisposed) {
      return;
    }
    if (this._document) {
      this._isStale = false;
      this._fill(this._document, this._data);
    } else if (!this._isEmbedding && !this._hasFailed && this.node.isConnected) {
      this._isEmbedding = true;
      void this._embed();
    }
  }

  private async _embed(): Promise<void> {
    const wait = element('p', 'Figure-note', this._trans.__('Drawing …'));
    // Bokeh draws only into the page; until the numbers are in, what it drew is not seen
    const target = element('div', 'Figure-target jp-mod-waiting');
    this._plot.replaceChildren(wait, target);
    try {
      const { bokeh, templates } = await loadBokeh();
      const item = templates.figures[this._template];
      if (this._isDisposed || !this.node.isConnected || !item) {
        return;
      }
      // read once: after a change of the page, reading a style has all of it laid out anew
      this._colors = colorsAt(this.node, templates.colors);
      const colored = recolored(item, templates.colors, this._colors);
      this._views = await bokeh.embed.embed_item({ ...colored, target_id: null }, target);
      const [root] = this._views.roots;
      if (root) {
        spareStyles(root);
      }
      this._document = root?.model.document ?? null;
      if (this.isDisposed) {
        this._clear();
        return;
      }
      if (this._document && this._data) {
        this._isStale = false;
        this._fill(this._document, this._data);
      }
      wait.remove();
      target.classList.remove('jp-mod-waiting');
      this._watchTaps();
    } catch (error) {
      this._hasFailed = true; // once: what failed would fail again with every change
      console.error(error);
      target.remove();
      wait.textContent = this._trans.__(
        'The figure could not be drawn; its table holds the same numbers.'
      );
    } finally {
      this._isEmbedding = false;
    }
    this._draw();
  }

  private _fill(document: IDocument, data: IFigureData): void {
    const set = (name: string, property: string, value: unknown): void => {
      const model = document.get_model_by_name(name);
      if (model) {
        model[property] = value;
      }
    };
    if (data.factors) {
      set('factors', 'factors', [...data.factors]);
    }
    if (data.height !== undefined) {
      set('figure', 'height', data.height);
    }
    if (data.xLabel !== undefined) {
      set('x_axis', 'axis_label', data.xLabel);
    }
    if (data.yLabel !== undefined) {
      set('y_axis', 'axis_label', data.yLabel);
    }
    for (const [name, columns] of Object.entries(data.sources)) {
      set(
        name,
        'data',
        Object.fromEntries(
          Object.entries(columns).map(([column, values]) => [
            column,
            column === 'color'
              ? values.map(role => this._colors[String(role)] ?? String(role))
              : [...values]
          ])
        )
      );
    }
  }

  private _watchTaps(): void {
    const onTap = this._onTap;
    if (!onTap || !this._document) {
      return;
    }
    for (const name of Object.keys(this._data?.sources ?? {})) {
      const source = this._document.get_model_by_name(name) as {
        selected?: ISelected;
      } | null;
      const { selected } = source ?? {};
      selected?.properties.indices.change.connect(() => {
        const [index] = selected.indices;
        if (index !== undefined) {
          onTap(name, index);
        }
      });
    }
  }

  private _onTheme(): void {
    if (this._document) {
      this._clear();
      this._isStale = true;
      this._draw();
    }
  }

  private _clear(): void {
    this._document?.clear();
    this._views?.clear();
    this._document = null;
    this._views = null;
    this._plot.replaceChildren();
  }

  private readonly _toggle: HTMLButtonElement;
  private readonly _plot: HTMLElement;
  private readonly _table: HTMLElement;
  private readonly _observer: IntersectionObserver;
  private _data: IFigureData | null = null;
  private _views: IViewManager | null = null;
  private _document: IDocument | null = null;
  private _colors: Readonly<Record<string, string>> = {};
  private _isStale = true;
  private _isSeen = false;
  private _isEmbedding = false;
  private _hasFailed = false;
  private _showsTable = false;
  private _isDisposed = false;
}

interface ISelected {
  readonly indices: readonly number[];
  readonly properties: {
    readonly indices: { readonly change: { connect(slot: () => void): void } };
  };
}
