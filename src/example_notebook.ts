// What does somebody try first? A notebook with a small training loop under %%predict, made in the folder that is open.

import type { Contents } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

const LOOP = `%%predict
import torch

model = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
    torch.nn.Conv2d(64, 128, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1),
    torch.nn.Flatten(), torch.nn.Linear(128, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(8):
    images, labels = torch.randn(32, 3, 32, 32), torch.randint(10, (32,))
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
`;

/** Write the notebook into `folder` and return its path. */
export async function writeExample(
  contents: Contents.IManager,
  folder: string,
  kernel: { readonly name: string; readonly displayName: string } | null,
  trans: TranslationBundle
): Promise<string> {
  const made = await contents.newUntitled({ path: folder, type: 'notebook' });
  const text = trans.__(
    '# Which GPU, what will it cost?\n\nRun both cells. The second one trains a small network for eight steps and predicts its step on other GPUs. No GPU is needed.'
  );
  await contents.save(made.path, {
    type: 'notebook',
    format: 'json',
    content: {
      nbformat: 4,
      nbformat_minor: 5,
      metadata: kernel
        ? { kernelspec: { name: kernel.name, display_name: kernel.displayName } }
        : {},
      cells: [
        { id: 'surfer-text', cell_type: 'markdown', metadata: {}, source: text },
        codeCell('surfer-load', '%load_ext surfer_lab'),
        codeCell('surfer-loop', LOOP.trimEnd())
      ]
    }
  });
  return made.path;
}

function codeCell(id: string, source: string): Record<string, unknown> {
  return { id, cell_type: 'code', metadata: {}, source, outputs: [], execution_count: null };
}
