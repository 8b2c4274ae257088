// How does the panel come into JupyterLab? In a sidebar from the start, as a tab when asked; it opens trace files too.
// Only its place is there at the start: the panel itself is loaded when it is first seen.

import {
  ILayoutRestorer,
  type JupyterFrontEnd,
  type JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette, MainAreaWidget } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { FileDialog, IDefaultFileBrowser, IFileBrowserFactory } from '@jupyterlab/filebrowser';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../../commands';
import { surferIcon } from '../../icon';
import { SETTINGS_ID } from '../../settings';
import { IPreferences, TRANSLATION_DOMAIN } from '../../tokens';
import { LazyHost } from '../host';
import type { IPanelCommands, PanelBody } from './body';
import type { PanelMaker } from './made';
import { isTraceFile, TRACE_FACTORY, TraceModelFactory, TraceWidgetFactory } from './trace_files';

/** The ids of the panel's commands. */
export const PanelCommandIDs = {
  open: 'surfer-lab:open-panel',
  openInMain: 'surfer-lab:open-panel-as-tab',
  openTrace: 'surfer-lab:open-trace'
} as const;

const PANEL_ID = 'surfer-lab-panel';
const RANK = 850;

export const panelPlugin: JupyterFrontEndPlugin<void> = {
  id: 'surfer-lab:panel',
  description: 'The panel that shows predictions of the active notebook and of trace files.',
  autoStart: true,
  requires: [IPreferences],
  optional: [
    INotebookTracker,
    ITranslator,
    ICommandPalette,
    ILayoutRestorer,
    ISettingRegistry,
    IDocumentManager,
    IFileBrowserFactory,
    IDefaultFileBrowser
  ],
  activate: (
    app: JupyterFrontEnd,
    preferences: IPreferences,
    notebooks: INotebookTracker | null,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    restorer: ILayoutRestorer | null,
    registry: ISettingRegistry | null,
    documents: IDocumentManager | null,
    browsers: IFileBrowserFactory | null,
    files: IDefaultFileBrowser | null
  ) => {
    const trans = (translator ?? nullTranslator).load(TRANSLATION_DOMAIN);
    const { commands, shell } = app;
    const run = (command: string, args = {}): void => {
      void commands.execute(command, args);
    };
    const asked = (isInMain: boolean): IPanelCommands => ({
      openExample: () => {
        run(CommandIDs.openExample);
      },
      openTrace: () => {
        run(PanelCommandIDs.openTrace);
      },
      openSettings: commands.hasCommand('settingeditor:open')
        ? () => {
            run('settingeditor:open', { query: 'Surfer Lab' });
          }
        : null,
      openInMain: isInMain
        ? null
        : () => {
            run(PanelCommandIDs.openInMain);
          }
    });
    let maker: PanelMaker | null = null;
    const hostOf = (make: (maker: PanelMaker) => PanelBody): LazyHost => {
      const host = new LazyHost(async () => {
        const { PanelMaker } = await import('./made');
        maker ??= new PanelMaker(notebooks, preferences, trans);
        return make(maker);
      }, trans);
      host.title.icon = surferIcon;
      host.title.caption = trans.__('Surfer Lab: which GPU, what will it cost');
      return host;
    };

    const panel = hostOf(made => made.following(asked(false)));
    panel.id = PANEL_ID;
    let side = 'right';
    const place = (wanted: string): void => {
      side = wanted;
      shell.add(panel, side, { rank: RANK, type: 'Surfer Lab' });
    };
    place(side);
    restorer?.add(panel, PANEL_ID);
    void registry?.load(SETTINGS_ID).then(settings => {
      const follow = (): void => {
        const wanted = settings.composite['side'] === 'left' ? 'left' : 'right';
        if (wanted !== side) {
          place(wanted);
        }
      };
      settings.changed.connect(follow);
      follow();
    });

    commands.addCommand(PanelCommandIDs.open, {
      label: trans.__('Show the Surfer Lab Panel'),
      caption: trans.__('Which GPU, what will it cost: predictions of the active notebook'),
      icon: surferIcon,
      execute: () => {
        shell.activateById(PANEL_ID);
      }
    });
    commands.addCommand(PanelCommandIDs.openInMain, {
      label: trans.__('Open the Surfer Lab Panel as a Tab'),
      icon: surferIcon,
      execute: () => {
        const content = hostOf(made => made.following(asked(true)));
        const tab = new MainAreaWidget({ content });
        tab.title.label = trans.__('Surfer Lab');
        tab.title.icon = surferIcon;
        shell.add(tab, 'main', { mode: 'split-right' });
        shell.activateById(tab.id);
        return tab;
      }
    });
    const entries: string[] = [PanelCommandIDs.open, PanelCommandIDs.openInMain];
    if (documents) {
      const { registry: types } = documents;
      types.addFileType({
        name: 'surfer-trace',
        displayName: trans.__('Profiler trace'),
        extensions: ['.pt.trace.json', '.pt.trace.json.gz'],
        mimeTypes: ['application/json'],
        contentType: 'file',
        fileFormat: null,
        icon: surferIcon
      });
      types.addModelFactory(new TraceModelFactory());
      types.addWidgetFactory(
        new TraceWidgetFactory(trans, path =>
          hostOf(made => made.ofTrace(path, app.serviceManager, asked(true)))
        )
      );
      commands.addCommand(PanelCommandIDs.openTrace, {
        label: trans.__('Open a Profiler Trace in Surfer Lab'),
        caption: trans.__('Predict a step that the torch profiler recorded (.json, .json.gz)'),
        icon: surferIcon,
        isVisible: args => args['isContextMenu'] !== true || selectedTraces(browsers).length > 0,
        execute: async args => {
          const paths =
            typeof args['path'] === 'string'
              ? [args['path']]
              : args['isContextMenu'] === true
                ? selectedTraces(browsers)
                : await askForTraces(documents, files, trans.__('Open a profiler trace'));
          return paths.map(path => documents.openOrReveal(path, TRACE_FACTORY));
        }
      });
      app.contextMenu.addItem({
        command: PanelCommandIDs.openTrace,
        args: { isContextMenu: true },
        selector: '.jp-DirListing-item[data-isdir="false"]',
        rank: 3
      });
      entries.push(PanelCommandIDs.openTrace);
    }
    for (const command of entries) {
      palette?.addItem({ command, category: trans.__('Surfer Lab') });
    }
  }
};

function selectedTraces(browsers: IFileBrowserFactory | null): string[] {
  const selected = browsers?.tracker.currentWidget?.selectedItems() ?? [];
  return [...selected].map(item => item.path).filter(isTraceFile);
}

async function askForTraces(
  manager: IDocumentManager,
  files: IDefaultFileBrowser | null,
  title: string
): Promise<string[]> {
  const answer = await FileDialog.getOpenFiles({
    manager,
    title,
    filter: model => (model.type === 'directory' || isTraceFile(model.path) ? { score: 1 } : null),
    ...(files ? { defaultPath: files.model.path } : {})
  });
  return (answer.value ?? []).map(model => model.path).filter(isTraceFile);
}
