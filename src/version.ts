// Which version is this front end? package.json says it, and a test holds it to the Python package's.

import { version } from '../package.json';

export const OWN_VERSION: string = version;
