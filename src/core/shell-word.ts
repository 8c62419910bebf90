/** A text as one word of a shell, for commands that a message proposes. */
export function shellWord(text: string): string {
  return /^[\w.:@/=+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
