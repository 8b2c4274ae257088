// Is there something to say in this section? Sentences, tables of text, notes: read, or null.

/** A section's content as the kernel words it. */
export interface IFacts {
  readonly sentences: readonly string[];
  readonly tables: readonly {
    readonly caption: string;
    readonly columns: readonly string[];
    readonly rows: readonly (readonly string[])[];
  }[];
  readonly notes: readonly string[];
}

/** The facts, or null where there are none or they have another form. */
export function readFacts(value: unknown): IFacts | null {
  if (typeof value !== 'object' || value === null) {
    return null;
  }
  const { sentences = [], tables = [], notes = [] } = value as Partial<IFacts>;
  const isRead =
    isTexts(sentences) &&
    isTexts(notes) &&
    Array.isArray(tables) &&
    tables.every(
      (one: Record<string, unknown>) =>
        typeof one.caption === 'string' &&
        isTexts(one.columns) &&
        Array.isArray(one.rows) &&
        one.rows.every(isTexts)
    );
  return isRead && sentences.length + tables.length > 0 ? { sentences, tables, notes } : null;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(one => typeof one === 'string');
}
