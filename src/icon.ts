// What does Surfer Lab look like at 16 pixels? A wave over a chip's pins, in the theme's colour.

import { LabIcon } from '@jupyterlab/ui-components';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M2 15.5c2.2 0 3.1-1.2 4.2-3.2C7.9 9.1 9.9 5 15 5c4 0 7 2.8 7 6.2 0 2.4-1.7 4.1-3.8 4.1-1.9 0-3.3-1.3-3.3-3 0-1.3.8-2.3 2-2.6-2.6-.5-4.4.9-5.7 3.2C9.900 15.400 8.300 18 4.600 18H2z"/>
    <path d="M2 20h20v1.600H2zM5 22.200h1.600V24H5zM9.100 22.200h1.600V24H9.100zM13.300 22.200h1.600V24h-1.600zM17.400 22.200H19V24h-1.600z"/>
  </g>
</svg>`;

/** The icon of the panel, its tab, commands and the launcher's card. */
export const surferIcon = new LabIcon({ name: 'surfer-lab:surfer', svgstr: SVG });
