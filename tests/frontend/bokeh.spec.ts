// Is the page spared what Bokeh would ask and write anew at every painting?

import { spareStyles, type IView } from '../../src/figures/bokeh';

class Sheet {
  css = '';
  count = 0;
  replace(css: string, styles?: unknown): void {
    this.count += 1;
    this.css = styles === undefined ? css : `${css}{}`;
  }
}

function viewOf(
  position: Sheet,
  children: readonly IView[] = []
): IView & {
  readonly asked: string[];
} {
  const asked: string[] = [];
  const visual = {
    _get_css_value: (name: string): string => {
      asked.push(name);
      return 'red';
    }
  };
  return {
    model: { document: null },
    visuals: [visual, {}],
    position,
    children: () => children,
    asked
  };
}

describe('a figure and all within it', () => {
  it('asks the page for no style, for there is none of Bokeh', () => {
    const axis = viewOf(new Sheet());
    const plot = viewOf(new Sheet(), [axis]);
    spareStyles(plot);
    for (const view of [plot, axis]) {
      expect([...(view.visuals ?? [])].map(one => one._get_css_value?.('text-color'))).toEqual([
        '',
        undefined
      ]);
      expect(view.asked).toEqual([]);
    }
  });

  it('writes a place when it has changed, and only then', () => {
    const sheet = new Sheet();
    spareStyles(viewOf(sheet));
    for (const css of ['left: 1px', 'left: 1px', 'left: 2px']) {
      (sheet as { replace(css: string): void }).replace(css);
    }
    expect(sheet.css).toBe('left: 2px');
    expect(sheet.count).toBe(2);
  });

  it('of another form than today is left as it is', () => {
    expect(() => {
      spareStyles({ model: { document: null } });
    }).not.toThrow();
  });
});
