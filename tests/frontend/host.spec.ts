// Is a panel's code loaded when the panel is first seen, once, and again after a failure?

import { Widget } from '@lumino/widgets';

import { LazyHost } from '../../src/panels/host';
import { trans } from './demo';

const settled = (): Promise<void> => new Promise(resolve => setTimeout(resolve));

function hidden(load: () => Promise<Widget>): LazyHost {
  const host = new LazyHost(load, trans);
  host.hide();
  Widget.attach(host, document.body);
  return host;
}

describe('the place of a panel', () => {
  it('loads nothing while it is not seen, and the panel once when it is', async () => {
    let count = 0;
    const made = new Widget();
    const host = hidden(() => {
      count += 1;
      return Promise.resolve(made);
    });
    await settled();
    expect(count).toBe(0);
    host.show();
    await settled();
    expect(made.parent).toBe(host);
    host.hide();
    host.show();
    await settled();
    expect(count).toBe(1);
    host.dispose();
    expect(made.isDisposed).toBe(true);
  });

  it('says what failed, and tries again when it is shown again', async () => {
    const told = jest.spyOn(console, 'error').mockImplementation();
    const made = new Widget();
    const answers = [Promise.reject(new Error('connection lost')), Promise.resolve(made)];
    const host = hidden(() => answers.shift() ?? Promise.resolve(made));
    host.show();
    await settled();
    expect(host.node.querySelector('[role=alert]')?.textContent).toContain('Reload the page');
    host.hide();
    host.show();
    await settled();
    expect(host.node.querySelector('[role=alert]')).toBeNull();
    expect(made.parent).toBe(host);
    expect(told).toHaveBeenCalledTimes(1);
    host.dispose();
  });

  it('keeps nothing that comes after it has closed', async () => {
    const made = new Widget();
    const host = hidden(() => Promise.resolve(made));
    host.show();
    host.dispose();
    await settled();
    expect(made.isDisposed).toBe(true);
  });
});
