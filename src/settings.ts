// Where are the preferences kept? In JupyterLab's settings, under the schema of this plugin.

import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';

import { Preferences } from './preferences';
import { IPreferences } from './tokens';

/** The plugin whose id names the settings. */
export const SETTINGS_ID = 'surfer-lab:plugin';

export const settingsPlugin: JupyterFrontEndPlugin<IPreferences> = {
  id: SETTINGS_ID,
  description: 'Pinned GPUs, own prices and the price basis, kept in the settings.',
  autoStart: true,
  provides: IPreferences,
  optional: [ISettingRegistry],
  activate: (_app: JupyterFrontEnd, registry: ISettingRegistry | null): IPreferences => {
    const preferences = new Preferences();
    registry?.load(SETTINGS_ID).then(
      settings => {
        preferences.attach(settings);
      },
      (error: unknown) => {
        console.warn('Surfer Lab keeps its preferences for this page only', error);
      }
    );
    return preferences;
  }
};
