// Which plugins does the extension bring?

import { commandsPlugin } from './commands';
import { outputPlugin } from './panels/output';
import { panelPlugin } from './panels/sidebar';
import { settingsPlugin } from './settings';

export default [settingsPlugin, outputPlugin, commandsPlugin, panelPlugin];
