// What can be done from the command palette and the launcher? Predict the selected cell, try an example, say the version.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { IDefaultFileBrowser } from '@jupyterlab/filebrowser';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { withPredictMagic } from './cell_magic';
import { surferIcon } from './icon';
import { TRANSLATION_DOMAIN } from './tokens';
import { OWN_VERSION } from './version';

/** The ids of the commands, for menus, shortcuts and tests. */
export const CommandIDs = {
  predictCell: 'surfer-lab:predict-cell',
  openExample: 'surfer-lab:open-example',
  about: 'surfer-lab:about'
} as const;

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'surfer-lab:commands',
  description: 'Commands to predict the selected cell, to open an example and to show the version.',
  autoStart: true,
  optional: [ICommandPalette, INotebookTracker, ITranslator, ILauncher, IDefaultFileBrowser],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null,
    launcher: ILauncher | null,
    files: IDefaultFileBrowser | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
    app.commands.addCommand(CommandIDs.predictCell, {
      label: trans.__('Predict the Selected Cell on Other GPUs'),
      caption: trans.__('Put %%predict on the first line of the selected code cell'),
      isEnabled: () => notebooks?.activeCell?.model.type === 'code',
      execute: () => {
        const cell = notebooks?.activeCell;
        if (cell?.model.type === 'code') {
          cell.model.sharedModel.setSource(withPredictMagic(cell.model.sharedModel.getSource()));
        }
      }
    });
    app.commands.addCommand(CommandIDs.openExample, {
      label: args =>
        args['isLauncher'] === true
          ? trans.__('Which GPU?')
          : trans.__('Open an Example Prediction'),
      caption: trans.__('A notebook that predicts a small training loop on other GPUs'),
      icon: surferIcon,
      execute: async args => {
        const { writeExample } = await import('./example_notebook');
        const { specs } = app.serviceManager.kernelspecs;
        const spec = specs?.kernelspecs[specs.default];
        const folder = typeof args['cwd'] === 'string' ? args['cwd'] : (files?.model.path ?? '');
        const path = await writeExample(
          app.serviceManager.contents,
          folder,
          spec ? { name: spec.name, displayName: spec.display_name } : null,
          trans
        );
        return (await app.commands.execute('docmanager:open', { path })) as unknown;
      }
    });
    app.commands.addCommand(CommandIDs.about, {
      label: trans.__('About Surfer Lab'),
      execute: () =>
        showDialog({
          title: trans.__('Surfer Lab'),
          body: trans.__(
            'JupyterLab extension %1. In a notebook, %surfer help lists what can be asked.',
            OWN_VERSION
          ),
          buttons: [Dialog.okButton()]
        })
    });
    for (const command of Object.values(CommandIDs)) {
      palette?.addItem({ command, category: trans.__('Surfer Lab') });
    }
    launcher?.add({
      command: CommandIDs.openExample,
      args: { isLauncher: true },
      category: trans.__('Other'),
      rank: 20
    });
  }
};
