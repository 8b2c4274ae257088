// Does a link to a kernel answer each request once, and leave nothing behind?

import { KernelLink, RequestFailed } from '../../src/session';
import { trans } from './demo';
import { FakeContext, FakeKernel, settled } from './kernels';

const ASK = { kind: 'view', prediction: 'one' } as const;

async function linked(
  kernel: FakeKernel | null
): Promise<{ link: KernelLink; context: FakeContext }> {
  const context = new FakeContext(kernel);
  const link = new KernelLink(context.asContext(), trans);
  await settled();
  return { link, context };
}

describe('meeting a kernel', () => {
  it('opens one comm where the package is loaded, and greets', async () => {
    const kernel = new FakeKernel();
    const { link } = await linked(kernel);
    expect(link.state).toBe('connected');
    expect(kernel.comms.size).toBe(1);
    const [comm] = [...kernel.comms];
    expect(comm?.sent[0]).toMatchObject({ kind: 'hello', notebook: 'work/train.ipynb' });
  });

  it('opens none where it is not, until it is loaded', async () => {
    const kernel = new FakeKernel(false);
    const { link } = await linked(kernel);
    expect(link.state).toBe('unloaded');
    expect(kernel.comms.size).toBe(0);
    kernel.load();
    expect(link.state).toBe('connected');
    expect(kernel.comms.size).toBe(1);
  });

  it('has none without a kernel, and one when a kernel comes', async () => {
    const { link, context } = await linked(null);
    expect(link.state).toBe('none');
    context.setKernel(new FakeKernel());
    await settled();
    expect(link.state).toBe('connected');
  });

  it.each([{ protocol: 9 }, { schema_version: 9 }])(
    'does not speak to another version: %p',
    async hello => {
      const kernel = new FakeKernel();
      kernel.hello = hello;
      const { link } = await linked(kernel);
      expect(link.state).toBe('mismatched');
      await expect(link.ask(ASK).answer).rejects.toBeInstanceOf(RequestFailed);
    }
  );
});

describe('a request', () => {
  it('gets its own answer, once', async () => {
    const kernel = new FakeKernel();
    const { link } = await linked(kernel);
    const [comm] = [...kernel.comms];
    const first = link.ask(ASK).answer;
    const second = link.ask(ASK).answer;
    const [, one, two] = comm?.sent ?? [];
    expect(one?.id).not.toBe(two?.id);
    comm?.tell({ kind: 'view', id: two?.id, view: 'second' });
    comm?.tell({ kind: 'view', id: two?.id, view: 'again' });
    comm?.tell({ kind: 'view', id: one?.id, view: 'first' });
    expect(await first).toMatchObject({ view: 'first' });
    expect(await second).toMatchObject({ view: 'second' });
    expect(link.waitingCount).toBe(0);
  });

  it('tells how far it is', async () => {
    const kernel = new FakeKernel();
    const { link } = await linked(kernel);
    const [comm] = [...kernel.comms];
    const heard: string[] = [];
    const pending = link.ask({ kind: 'trace', path: 'a.json' }, progress =>
      heard.push(progress.text)
    );
    const id = comm?.sent[1]?.id;
    comm?.tell({ kind: 'progress', id, done: 1, total: 2, text: 'half' });
    comm?.tell({ kind: 'view', id });
    await pending.answer;
    expect(heard).toEqual(['half']);
  });

  it('fails with what was seen and what to do', async () => {
    const kernel = new FakeKernel();
    kernel.answers['view'] = () => ({
      kind: 'failure',
      error: 'unknown',
      seen: 'no such',
      remedy: 'run it'
    });
    const { link } = await linked(kernel);
    await expect(link.ask(ASK).answer).rejects.toMatchObject({
      failure: { what: 'no such', remedy: 'run it' }
    });
  });

  it('can be cancelled, and is still answered', async () => {
    const kernel = new FakeKernel();
    const { link } = await linked(kernel);
    const [comm] = [...kernel.comms];
    const pending = link.ask({ kind: 'trace', path: 'a.json' });
    pending.cancel();
    const asked = comm?.sent[1];
    expect(comm?.sent[2]).toMatchObject({ kind: 'cancel', request: asked?.id });
    comm?.tell({
      kind: 'failure',
      id: asked?.id,
      error: 'cancelled',
      seen: 'cancelled',
      remedy: ''
    });
    await expect(pending.answer).rejects.toMatchObject({ wasCancelled: true });
  });

  it.each(['restarting', 'dead'] as const)('fails when the kernel is %s', async status => {
    const { link, context } = await linked(new FakeKernel());
    const { answer } = link.ask(ASK);
    context.setStatus(status);
    await expect(answer).rejects.toBeInstanceOf(RequestFailed);
    expect(link.waitingCount).toBe(0);
  });
});

describe('what is left behind', () => {
  it('is one comm after a restart, of the new kernel', async () => {
    const kernel = new FakeKernel();
    const { link, context } = await linked(kernel);
    const [before] = [...kernel.comms];
    context.setStatus('restarting');
    expect(link.state).toBe('restarting');
    expect(kernel.comms.size).toBe(0);
    kernel.isLoaded = false;
    context.setStatus('idle');
    await settled();
    expect(link.state).toBe('unloaded');
    kernel.load();
    expect([...kernel.comms].filter(comm => comm !== before).length).toBe(1);
    expect(kernel.comms.size).toBe(1);
  });

  it('is nothing in a kernel that the notebook has left', async () => {
    const [old, young] = [new FakeKernel(), new FakeKernel()];
    const { context } = await linked(old);
    const [comm] = [...old.comms];
    context.setKernel(young);
    await settled();
    expect(comm?.isClosed).toBe(true);
    expect([old.comms.size, old.targets.size]).toEqual([0, 0]);
    expect([young.comms.size, young.targets.size]).toEqual([1, 1]);
  });

  it('is nothing after it is disposed of: no comm, no target, no connection', async () => {
    const kernel = new FakeKernel();
    const { link, context } = await linked(kernel);
    expect(context.connections).toBe(2);
    link.dispose();
    link.dispose();
    expect(context.connections).toBe(0);
    expect([kernel.comms.size, kernel.targets.size]).toEqual([0, 0]);
  });

  it('is nothing of a kernel that answers after it was left', async () => {
    const kernel = new FakeKernel();
    const { link } = await linked(kernel);
    const [comm] = [...kernel.comms];
    const heard: unknown[] = [];
    link.announced.connect((_, message) => heard.push(message));
    link.dispose();
    comm?.tell({ kind: 'forgotten', prediction: 'one' });
    expect(heard).toEqual([]);
  });
});
