// How does a double click on a trace open the panel? As a document whose content is never loaded: traces are too large
// for a browser, a kernel reads them.

import {
  ABCWidgetFactory,
  DocumentWidget,
  TextModelFactory,
  type DocumentRegistry
} from '@jupyterlab/docregistry';
import type { TranslationBundle } from '@jupyterlab/translation';

import { surferIcon } from '../../icon';
import type { LazyHost } from '../host';

/** The name of the way in which a trace is opened. */
export const TRACE_FACTORY = 'Surfer Lab trace';

const MODEL_NAME = 'surfer-trace';

/** Whether a file may be a profiler's trace, by its name. */
export function isTraceFile(path: string): boolean {
  return /\.json(\.gz)?$/i.test(path);
}

/** A model without content: JupyterLab asks the server for the file's name and date only. */
export class TraceModelFactory extends TextModelFactory {
  override get name(): string {
    return MODEL_NAME;
  }

  override get contentType(): 'file' {
    return 'file';
  }

  override get fileFormat(): 'text' {
    // null is "no content" to the document context; its type knows text only
    return null as unknown as 'text';
  }
}

/** Makes a tab for a trace file. */
export class TraceWidgetFactory extends ABCWidgetFactory<DocumentWidget<LazyHost>> {
  constructor(
    trans: TranslationBundle,
    private readonly _makeBody: (path: string) => LazyHost
  ) {
    super({
      name: TRACE_FACTORY,
      label: trans.__('Surfer Lab (profiler trace)'),
      modelName: MODEL_NAME,
      fileTypes: ['surfer-trace', 'json'],
      defaultFor: ['surfer-trace'],
      readOnly: true
    });
  }

  protected createNewWidget(context: DocumentRegistry.Context): DocumentWidget<LazyHost> {
    const content = this._makeBody(context.path);
    const widget = new DocumentWidget({ content, context });
    widget.title.icon = surferIcon;
    return widget;
  }
}
