// What can be done from the command palette? Predict the selected cell; say which version runs.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { Dialog, ICommandPalette, showDialog } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { TRANSLATION_DOMAIN } from './tokens';
import { OWN_VERSION } from './version';

/** The ids of the commands, for menus, shortcuts and tests. */
export const CommandIDs = {
  predictCell: 'surfer-lab:predict-cell',
  about: 'surfer-lab:about'
} as const;

/** The source of a cell with the magic on its first line, once. */
export function withPredictMagic(source: string): string {
  return /^\s*%%predict\b/.test(source) ? source : `%%predict\n${source}`;
}

export const commandsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'surfer-lab:commands',
  description: 'Commands to predict the selected cell and to show the version.',
  autoStart: true,
  optional: [ICommandPalette, INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null
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
  }
};
