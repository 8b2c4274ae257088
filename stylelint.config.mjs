// What stylelint holds: colours come from the theme, class names say which widget they belong to.
export default {
  extends: ['stylelint-config-standard'],
  rules: {
    'color-named': 'never',
    'color-no-hex': true,
    'function-disallowed-list': ['rgb', 'rgba', 'hsl', 'hsla'],
    'selector-class-pattern': [
      '^(jp-Surfer[A-Z][A-Za-z]*(-[a-z][A-Za-z]*)*|jp-mod-[a-z][A-Za-z]*)$',
      { message: 'Name a class jp-Surfer<Widget>-part' }
    ],
    'custom-property-pattern': null // JupyterLab's own variables
  }
};
