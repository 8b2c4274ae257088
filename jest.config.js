// Slim on purpose: ts-jest without type checking (tsc does that), JupyterLab's ES modules transformed, jsdom.
const TO_TRANSFORM = [
  '@jupyterlab',
  '@jupyter',
  '@lumino',
  '@microsoft',
  'exenv-es6',
  'lib0',
  'y-protocols',
  'y-websocket',
  'yjs',
  'nanoid',
  'vscode-ws-jsonrpc'
];

module.exports = {
  testEnvironment: 'jsdom',
  testMatch: ['<rootDir>/tests/frontend/**/*.spec.ts'],
  setupFiles: ['<rootDir>/tests/frontend/setup.js'],
  moduleNameMapper: {
    '\\.css$': '<rootDir>/tests/frontend/no_style.js',
    '\\.svg$': '<rootDir>/tests/frontend/no_icon.js'
  },
  transform: {
    '\\.(ts|js)$': [
      'ts-jest',
      {
        tsconfig: {
          ...require('./tsconfig.json').compilerOptions,
          composite: false,
          incremental: false,
          allowJs: true,
          module: 'commonjs',
          moduleResolution: 'node10',
          ignoreDeprecations: '5.0',
          isolatedModules: true
        },
        diagnostics: false
      }
    ]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${TO_TRANSFORM.join('|')})/)`],
  modulePathIgnorePatterns: [
    '<rootDir>/surfer_lab/labextension',
    '<rootDir>/dist',
    '<rootDir>/.venv',
    '<rootDir>/.venv-wheel'
  ],
  clearMocks: true
};
