// How does a cell come to be predicted? By the magic on its first line, once.

/** The source of a cell with the magic on its first line. */
export function withPredictMagic(source: string): string {
  return /^\s*%%predict\b/.test(source) ? source : `%%predict\n${source}`;
}
