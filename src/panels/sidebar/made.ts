// What is loaded when a panel is first seen? The panel's own code, and what it looks at: notebooks, or one trace file.

import type { INotebookTracker } from '@jupyterlab/notebook';
import type { ServiceManager } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';

import { NumberFormat } from '../../format';
import { FixedSource, FollowedNotebook, NotebookSources } from '../../sources/sources';
import { TraceFileSource } from '../../sources/trace_file';
import type { IPreferences } from '../../tokens';
import { PanelBody, type IPanelCommands } from './body';

/** Makes the panels of one JupyterLab window; they share its notebooks. */
export class PanelMaker {
  constructor(
    notebooks: INotebookTracker | null,
    private readonly _preferences: IPreferences,
    private readonly _trans: TranslationBundle
  ) {
    this._sources = new NotebookSources(notebooks, _trans);
  }

  /** A panel that follows the active notebook. */
  following(commands: IPanelCommands): PanelBody {
    const followed = new FollowedNotebook(this._sources);
    return new PanelBody(followed, this._preferences, this._trans, this._format, commands);
  }

  /** A panel of one trace file, read by a kernel of its own. */
  ofTrace(path: string, services: ServiceManager.IManager, commands: IPanelCommands): PanelBody {
    const followed = new FixedSource(new TraceFileSource(services, path, this._trans));
    return new PanelBody(followed, this._preferences, this._trans, this._format, commands);
  }

  private readonly _sources: NotebookSources;
  private readonly _format = new NumberFormat();
}
