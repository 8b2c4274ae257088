// What does the palette's command do to a cell?

import plugins from '../../src';
import { withPredictMagic } from '../../src/cell_magic';

describe('predicting the selected cell', () => {
  it('puts the magic on its first line', () => {
    expect(withPredictMagic('for batch in loader:\n    step(batch)')).toBe(
      '%%predict\nfor batch in loader:\n    step(batch)'
    );
  });

  it.each(['%%predict\nstep()', '%%predict --on A100\nstep()', '\n%%predict\nstep()'])(
    'leaves a cell that has it: %j',
    source => {
      expect(withPredictMagic(source)).toBe(source);
    }
  );
});

describe('the extension', () => {
  it('is a list of plugins with ids of its own, started by themselves', () => {
    const ids = plugins.map(plugin => plugin.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every(id => id.startsWith('surfer-lab:'))).toBe(true);
    expect(plugins.every(plugin => plugin.autoStart)).toBe(true);
  });
});
