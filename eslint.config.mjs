// What eslint holds: typescript-eslint's strict, type-aware rules, and no way for data to become markup.
import eslint from '@eslint/js';
import tseslint from 'typescript-eslint';

const NO_MARKUP_FROM_DATA = ['innerHTML', 'outerHTML', 'insertAdjacentHTML'].map(property => ({
  selector: `MemberExpression[property.name='${property}']`,
  message: 'Data is drawn as text nodes: a trace may name an operation <script>.'
}));

export default tseslint.config(
  { ignores: ['lib/', 'node_modules/', 'surfer_lab/', 'src/generated/'] },
  eslint.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: {
      parserOptions: {
        project: ['./tsconfig.json', './tsconfig.test.json'],
        tsconfigRootDir: import.meta.dirname
      }
    },
    rules: {
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], custom: { regex: '^I[A-Z]', match: true } }
      ],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/unbound-method': 'off', // Lumino's connect(method, object) takes the two apart and binds them
      '@typescript-eslint/no-extraneous-class': 'off', // JupyterLab groups constants in namespaces and classes
      curly: 'error',
      eqeqeq: 'error',
      'no-restricted-syntax': ['error', ...NO_MARKUP_FROM_DATA]
    }
  }
);
