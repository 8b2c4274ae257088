// Which plugins does the extension bring?

import { commandsPlugin } from './commands';
import { outputPlugin } from './panels/output';

export default [outputPlugin, commandsPlugin];
